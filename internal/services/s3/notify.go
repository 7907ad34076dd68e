package s3

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// A Notification is an event of a bucket that a function is called with.
type Notification struct {
	Source   string // in the form of an ARN, the same for all events of one bucket for one function
	Function string // ARN
	Event    []byte
}

// notifications is the document NotificationConfiguration, as far as it is acted upon: queues and EventBridge are only stored.
type notifications struct {
	Functions []notified `xml:"CloudFunctionConfiguration"`
	Topics    []notified `xml:"TopicConfiguration"`
	Queues    []notified `xml:"QueueConfiguration"`
}

// notified is one destination of events.
type notified struct {
	ID       string                         `xml:"Id"`
	Function string                         `xml:"CloudFunction"`
	Events   []string                       `xml:"Event"`
	Rules    []struct{ Name, Value string } `xml:"Filter>S3Key>FilterRule"`
}

// maxNotified bounds the destinations of a bucket, as S3 does.
const maxNotified = 100

// parseNotifications reads and checks the document NotificationConfiguration.
func parseNotifications(text []byte) (*notifications, error) {
	out := &notifications{}
	if err := parseXML(text, "NotificationConfiguration", out); err != nil {
		return nil, err
	}
	all := slices.Concat(out.Functions, out.Topics, out.Queues)
	if len(all) > maxNotified {
		return nil, s3Error("InvalidArgument", fmt.Sprintf("The notification configuration has more than %d destinations", maxNotified))
	}
	for _, n := range all {
		for _, event := range n.Events {
			if !strings.HasPrefix(event, "s3:") {
				return nil, s3Error("InvalidArgument", "The event is not supported for notifications", "ArgumentName", "Event", "ArgumentValue", words.Cut(event, 50))
			}
		}
		for _, rule := range n.Rules {
			if !strings.EqualFold(rule.Name, "prefix") && !strings.EqualFold(rule.Name, "suffix") {
				return nil, s3Error("InvalidArgument", "filter rule name must be either prefix or suffix", "ArgumentName", "FilterRule.Name", "ArgumentValue", words.Cut(rule.Name, 50))
			}
		}
	}
	return out, nil
}

// wants reports whether a destination gets an event, such as "ObjectCreated:Put".
func (n *notified) wants(event, key string) bool {
	matches := slices.ContainsFunc(n.Events, func(pattern string) bool {
		prefix, any := strings.CutSuffix(strings.TrimPrefix(pattern, "s3:"), "*")
		return prefix == event || any && strings.HasPrefix(event, prefix)
	})
	for _, rule := range n.Rules {
		fits := strings.HasPrefix
		if strings.EqualFold(rule.Name, "suffix") {
			fits = strings.HasSuffix
		}
		matches = matches && fits(key, rule.Value)
	}
	return matches
}

// notify has the functions that a bucket names called with an event, if the transaction commits. o is the version that was
// created or removed.
func (s *Service) notify(ctx context.Context, tx *store.Tx, b *bucketRow, event string, o *objectRow) error {
	if s.notified == nil {
		return nil
	}
	i := slices.IndexFunc(bucketDocuments, func(d bucketDocument) bool { return d.sub == notification })
	text, err := s.documentOf(ctx, tx, b, bucketDocuments[i])
	if err != nil || text == "" || text == bucketDocuments[i].initial {
		return err
	}
	config, err := parseNotifications([]byte(text))
	if err != nil {
		return fmt.Errorf("reading the notifications of a bucket: %w", err)
	}
	for _, n := range config.Functions {
		if !n.wants(event, o.Key) {
			continue
		}
		message, err := json.Marshal(map[string]any{"Records": []any{s.record(b, event, n.ID, o)}})
		if err != nil {
			return fmt.Errorf("making the event of a bucket: %w", err)
		}
		sum := sha256.Sum256([]byte(n.Function))
		source := fmt.Sprintf("arn:%s:s3:%s:%s:%s:%s", awswire.PartitionOf(b.Region), b.Region, b.Account, b.Name, hex.EncodeToString(sum[:8]))
		if err := s.notified(ctx, tx, Notification{source, n.Function, message}); err != nil {
			return err
		}
	}
	return nil
}

// record is an event in the form that S3 sends to functions.
func (s *Service) record(b *bucketRow, event, id string, o *objectRow) map[string]any {
	object := map[string]any{
		"key": strings.ReplaceAll(url.QueryEscape(o.Key), "%2F", "/"), "sequencer": fmt.Sprintf("%016X", o.Sequence),
	}
	if o.Version != nullVersion {
		object["versionId"] = o.Version
	}
	if strings.HasPrefix(event, "ObjectCreated:") {
		object["size"], object["eTag"] = o.Size, o.ETag
	}
	owner := map[string]any{"principalId": canonicalUser(b.Account)}
	return map[string]any{
		"eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": b.Region, "eventName": event,
		"eventTime":         s.now().UTC().Format("2006-01-02T15:04:05.000Z"),
		"userIdentity":      owner,
		"requestParameters": map[string]any{"sourceIPAddress": "127.0.0.1"},
		"responseElements":  map[string]any{"x-amz-request-id": s.newID(), "x-amz-id-2": s.newID()},
		"s3": map[string]any{
			"s3SchemaVersion": "1.0", "configurationId": cmp.Or(id, b.Name), "object": object,
			"bucket": map[string]any{"name": b.Name, "ownerIdentity": owner, "arn": "arn:" + awswire.PartitionOf(b.Region) + ":s3:::" + b.Name},
		},
	}
}

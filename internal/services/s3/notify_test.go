package s3

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
)

const notificationXML = `<NotificationConfiguration xmlns="` + s3Namespace + `">
	<CloudFunctionConfiguration><Id>one</Id><CloudFunction>arn:aws:lambda:eu-west-1:123456789012:function:made</CloudFunction><Event>s3:ObjectCreated:*</Event>
		<Filter><S3Key><FilterRule><Name>prefix</Name><Value>in/</Value></FilterRule><FilterRule><Name>Suffix</Name><Value>.txt</Value></FilterRule></S3Key></Filter></CloudFunctionConfiguration>
	<CloudFunctionConfiguration><CloudFunction>arn:aws:lambda:eu-west-1:123456789012:function:gone</CloudFunction><Event>s3:ObjectRemoved:Delete</Event><Event>s3:ObjectRemoved:DeleteMarkerCreated</Event></CloudFunctionConfiguration>
	<QueueConfiguration><Queue>arn:aws:sqs:eu-west-1:123456789012:q</Queue><Event>s3:ObjectCreated:*</Event></QueueConfiguration>
	<EventBridgeConfiguration/>
</NotificationConfiguration>`

// sends sends a request, which must be answered with a status, and returns the answer.
func (b *bench) sends(t *testing.T, method, path, body string, status int) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, b.url+path, strings.NewReader(body))
	ok(t, err)
	response, err := http.DefaultClient.Do(request)
	ok(t, err)
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	ok(t, err)
	if response.StatusCode != status {
		t.Fatalf("%s %s: %s %s", method, path, response.Status, answer)
	}
	return string(answer)
}

func TestNotifications(t *testing.T) {
	for _, place := range fixtures.Stores(t) {
		t.Run(place.Name, func(t *testing.T) {
			var sent []Notification
			b := start(t, place, Config{Notify: func(_ context.Context, _ *store.Tx, n Notification) error {
				sent = append(sent, n)
				return nil
			}})
			b.sends(t, "PUT", "/box", "<CreateBucketConfiguration><LocationConstraint>eu-west-1</LocationConstraint></CreateBucketConfiguration>", 200)
			b.sends(t, "PUT", "/box/in/early.txt", "x", 200)
			b.sends(t, "PUT", "/box?notification", notificationXML, 200)
			b.sends(t, "PUT", "/box/in/a%20b%2B.txt", "hello", 200)
			b.sends(t, "PUT", "/box/in/a.csv", "x", 200)
			b.sends(t, "PUT", "/box/out/a.txt", "x", 200)
			b.sends(t, "DELETE", "/box/out/a.txt", "", 204)
			b.sends(t, "DELETE", "/box/never", "", 204)
			b.sends(t, "PUT", "/box?versioning", `<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>`, 200)
			b.sends(t, "DELETE", "/box/in/a.csv", "", 204)
			var got []string
			for _, n := range sent {
				var event struct{ Records []map[string]any }
				if err := json.Unmarshal(n.Event, &event); err != nil || len(event.Records) != 1 {
					t.Fatalf("%s: %v", n.Event, err)
				}
				of := event.Records[0]["s3"].(map[string]any)
				got = append(got, strings.Join([]string{
					n.Function[strings.LastIndex(n.Function, ":")+1:], event.Records[0]["eventName"].(string), of["object"].(map[string]any)["key"].(string), of["configurationId"].(string),
				}, " "))
				if !strings.HasPrefix(n.Source, "arn:aws:s3:eu-west-1:123456789012:box:") {
					t.Errorf("the source is %s", n.Source)
				}
			}
			want := []string{"made ObjectCreated:Put in/a+b%2B.txt one", "gone ObjectRemoved:Delete out/a.txt box", "gone ObjectRemoved:DeleteMarkerCreated in/a.csv box"}
			if !slices.Equal(got, want) {
				t.Errorf("got  %q\nwant %q", got, want)
			}
			var first struct{ Records []map[string]any }
			_ = json.Unmarshal(sent[0].Event, &first) // it was decoded above
			object := first.Records[0]["s3"].(map[string]any)["object"].(map[string]any)
			if object["size"] != 5.0 || object["eTag"] != "5d41402abc4b2a76b9719d911017c592" || first.Records[0]["awsRegion"] != "eu-west-1" {
				t.Errorf("the event is %s", sent[0].Event)
			}
		})
	}
}

func TestNotificationRefusals(t *testing.T) {
	b := onSQLite(t, Config{})
	b.sends(t, "PUT", "/box", "<CreateBucketConfiguration><LocationConstraint>eu-west-1</LocationConstraint></CreateBucketConfiguration>", 200)
	destination := func(inside string) string {
		return "<NotificationConfiguration><CloudFunctionConfiguration><CloudFunction>f</CloudFunction>" + inside + "</CloudFunctionConfiguration></NotificationConfiguration>"
	}
	for name, body := range map[string]string{
		"another event":    destination("<Event>ec2:Stopped</Event>"),
		"another filter":   destination("<Event>s3:ObjectCreated:*</Event><Filter><S3Key><FilterRule><Name>infix</Name><Value>x</Value></FilterRule></S3Key></Filter>"),
		"too many":         "<NotificationConfiguration>" + strings.Repeat("<QueueConfiguration/>", maxNotified+1) + "</NotificationConfiguration>",
		"not XML":          "<NotificationConfiguration>",
		"another document": "<Notifications/>",
	} {
		if answer := b.sends(t, "PUT", "/box?notification", body, 400); !strings.Contains(answer, "<Code>") {
			t.Errorf("%s: %s", name, answer)
		}
	}
}

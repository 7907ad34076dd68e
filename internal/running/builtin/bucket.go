package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/formwork-dev/formwork/internal/running/invoke"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// s3 is a client of S3 that calls the service in this process, as the caller.
func (c *call) s3() *s3.Client {
	return s3.New(s3.Options{
		Region:       c.request.Caller.Region,
		BaseEndpoint: new("http://localhost"),
		UsePathStyle: true,
		// The signature selects the service; it is not verified.
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "in-process", SecretAccessKey: "in-process"}, nil
		}),
		HTTPClient: &http.Client{Transport: inProcess{c}},
		Retryer:    aws.NopRetryer{},
	})
}

// inProcess answers the requests of a client by the service itself.
type inProcess struct{ c *call }

func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	defer func() { _ = r.Body.Close() }()
	w := &recorder{header: http.Header{}, status: http.StatusOK}
	target, err := awswire.Reader{}.Read(r)
	if err != nil {
		return nil, err
	}
	t.c.types.config.S3(w, r, target, t.c.request.Caller)
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// A recorder keeps an answer. Answers about buckets are small.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header         { return w.header }
func (w *recorder) WriteHeader(status int)      { w.status = status }
func (w *recorder) Write(p []byte) (int, error) { return w.body.Write(p) }

// buckets are AWS::S3::Bucket.
type buckets struct{}

func (buckets) identifier(c *call) (string, error) {
	switch prefix := c.text("BucketNamePrefix"); {
	case c.text("BucketName") != "":
	case prefix != "": // a name in the namespace of the account
		c.desired["BucketName"] = fmt.Sprintf("%s-%s-%s-an", strings.TrimSuffix(prefix, "-"), c.request.Caller.Account, c.request.Caller.Region)
	default:
		c.desired["BucketName"] = strings.ToLower(c.generated(c.stackName(63), upperDigits))
	}
	return c.text("BucketName"), nil
}

func (b buckets) create(c *call) (string, error) {
	name := c.text("BucketName")
	in := &s3.CreateBucketInput{Bucket: &name}
	if region := c.request.Caller.Region; region != "us-east-1" {
		in.CreateBucketConfiguration = &s3types.CreateBucketConfiguration{LocationConstraint: s3types.BucketLocationConstraint(region)}
	}
	if _, err := c.s3().CreateBucket(c.ctx, in); err != nil {
		return name, err
	}
	return name, b.apply(c, name)
}

// apply sets everything that the model says and takes away what it does not say.
func (buckets) apply(c *call, name string) error {
	client := c.s3()
	for _, part := range bucketParts {
		value := c.desired[part.property]
		if value == nil && c.request.Action == invoke.Create {
			continue
		}
		if err := part.put(c, client, &name, value); err != nil {
			return fmt.Errorf("%s: %w", part.property, err)
		}
	}
	return putTags(c, client, &name)
}

func putTags(c *call, client *s3.Client, bucket *string) error {
	tags := c.tags()
	if len(tags) == 0 {
		_, err := client.DeleteBucketTagging(c.ctx, &s3.DeleteBucketTaggingInput{Bucket: bucket})
		return err
	}
	set := &s3types.Tagging{}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		set.TagSet = append(set.TagSet, s3types.Tag{Key: &key, Value: new(tags[key])})
	}
	_, err := client.PutBucketTagging(c.ctx, &s3.PutBucketTaggingInput{Bucket: bucket, Tagging: set})
	return err
}

// A bucketPart is a property of a bucket with separate operations. put with nil deletes it;
// get returns nil if it is not set.
type bucketPart struct {
	property string
	put      func(c *call, client *s3.Client, bucket *string, value any) error
	get      func(c *call, client *s3.Client, bucket *string) (any, error)
}

var bucketParts = []bucketPart{
	{"VersioningConfiguration", putVersioning, getVersioning},
	{"BucketEncryption", putEncryption, getEncryption},
	{"PublicAccessBlockConfiguration", putPublicAccess, getPublicAccess},
	{"OwnershipControls", putOwnership, getOwnership},
	{"LifecycleConfiguration", putLifecycle, getLifecycle},
	{"CorsConfiguration", putCORS, getCORS},
	{"LoggingConfiguration", putLogging, getLogging},
	{"NotificationConfiguration", putNotification, getNotification},
}

func putVersioning(c *call, client *s3.Client, bucket *string, value any) error {
	config := &s3types.VersioningConfiguration{Status: s3types.BucketVersioningStatusSuspended}
	if value == nil {
		if now, err := getVersioning(c, client, bucket); err != nil || now == nil {
			return err // it never was versioned, and stays so
		}
	} else if err := convert(value, config); err != nil {
		return err
	}
	_, err := client.PutBucketVersioning(c.ctx, &s3.PutBucketVersioningInput{Bucket: bucket, VersioningConfiguration: config})
	return err
}

func getVersioning(c *call, client *s3.Client, bucket *string) (any, error) {
	out, err := client.GetBucketVersioning(c.ctx, &s3.GetBucketVersioningInput{Bucket: bucket})
	if err != nil || out.Status == "" {
		return nil, err
	}
	return map[string]any{"Status": string(out.Status)}, nil
}

func putEncryption(c *call, client *s3.Client, bucket *string, value any) error {
	if value == nil {
		_, err := client.DeleteBucketEncryption(c.ctx, &s3.DeleteBucketEncryptionInput{Bucket: bucket})
		return err
	}
	rules, _ := value.(map[string]any)["ServerSideEncryptionConfiguration"].([]any)
	config := &s3types.ServerSideEncryptionConfiguration{}
	for _, rule := range rules {
		source, _ := rule.(map[string]any)
		var out s3types.ServerSideEncryptionRule
		byDefault, _ := source["ServerSideEncryptionByDefault"].(map[string]any)
		if byDefault != nil {
			out.ApplyServerSideEncryptionByDefault = &s3types.ServerSideEncryptionByDefault{SSEAlgorithm: s3types.ServerSideEncryption(fmt.Sprint(byDefault["SSEAlgorithm"]))}
			if key, ok := byDefault["KMSMasterKeyID"].(string); ok {
				out.ApplyServerSideEncryptionByDefault.KMSMasterKeyID = &key
			}
		}
		if enabled, ok := source["BucketKeyEnabled"].(bool); ok {
			out.BucketKeyEnabled = &enabled
		}
		config.Rules = append(config.Rules, out)
	}
	_, err := client.PutBucketEncryption(c.ctx, &s3.PutBucketEncryptionInput{Bucket: bucket, ServerSideEncryptionConfiguration: config})
	return err
}

func getEncryption(c *call, client *s3.Client, bucket *string) (any, error) {
	out, err := client.GetBucketEncryption(c.ctx, &s3.GetBucketEncryptionInput{Bucket: bucket})
	if err != nil {
		return absent(err)
	}
	var rules []any
	for _, rule := range out.ServerSideEncryptionConfiguration.Rules {
		item := map[string]any{}
		set(item, "BucketKeyEnabled", rule.BucketKeyEnabled)
		if d := rule.ApplyServerSideEncryptionByDefault; d != nil {
			byDefault := map[string]any{"SSEAlgorithm": string(d.SSEAlgorithm)}
			set(byDefault, "KMSMasterKeyID", d.KMSMasterKeyID)
			item["ServerSideEncryptionByDefault"] = byDefault
		}
		rules = append(rules, item)
	}
	return map[string]any{"ServerSideEncryptionConfiguration": rules}, nil
}

func putPublicAccess(c *call, client *s3.Client, bucket *string, value any) error {
	if value == nil {
		_, err := client.DeletePublicAccessBlock(c.ctx, &s3.DeletePublicAccessBlockInput{Bucket: bucket})
		return err
	}
	config := &s3types.PublicAccessBlockConfiguration{}
	if err := convert(value, config); err != nil {
		return err
	}
	_, err := client.PutPublicAccessBlock(c.ctx, &s3.PutPublicAccessBlockInput{Bucket: bucket, PublicAccessBlockConfiguration: config})
	return err
}

func getPublicAccess(c *call, client *s3.Client, bucket *string) (any, error) {
	out, err := client.GetPublicAccessBlock(c.ctx, &s3.GetPublicAccessBlockInput{Bucket: bucket})
	if err != nil {
		return absent(err)
	}
	model := map[string]any{}
	config := out.PublicAccessBlockConfiguration
	set(model, "BlockPublicAcls", config.BlockPublicAcls)
	set(model, "BlockPublicPolicy", config.BlockPublicPolicy)
	set(model, "IgnorePublicAcls", config.IgnorePublicAcls)
	set(model, "RestrictPublicBuckets", config.RestrictPublicBuckets)
	return model, nil
}

func putOwnership(c *call, client *s3.Client, bucket *string, value any) error {
	if value == nil {
		_, err := client.DeleteBucketOwnershipControls(c.ctx, &s3.DeleteBucketOwnershipControlsInput{Bucket: bucket})
		return err
	}
	config := &s3types.OwnershipControls{}
	if err := convert(value, config); err != nil {
		return err
	}
	_, err := client.PutBucketOwnershipControls(c.ctx, &s3.PutBucketOwnershipControlsInput{Bucket: bucket, OwnershipControls: config})
	return err
}

func getOwnership(c *call, client *s3.Client, bucket *string) (any, error) {
	out, err := client.GetBucketOwnershipControls(c.ctx, &s3.GetBucketOwnershipControlsInput{Bucket: bucket})
	if err != nil {
		return absent(err)
	}
	var rules []any
	for _, rule := range out.OwnershipControls.Rules {
		rules = append(rules, map[string]any{"ObjectOwnership": string(rule.ObjectOwnership)})
	}
	return map[string]any{"Rules": rules}, nil
}

// bucketPolicies are AWS::S3::BucketPolicy, identified by their bucket.
type bucketPolicies struct{}

func (bucketPolicies) identifier(c *call) (string, error) { return c.text("Bucket"), nil }

func (p bucketPolicies) create(c *call) (string, error) {
	return c.text("Bucket"), p.put(c, c.text("Bucket"))
}

func (bucketPolicies) put(c *call, bucket string) error {
	document := c.desired["PolicyDocument"]
	text, ok := document.(string)
	if !ok {
		encoded, err := json.Marshal(document)
		if err != nil {
			return err
		}
		text = string(encoded)
	}
	_, err := c.s3().PutBucketPolicy(c.ctx, &s3.PutBucketPolicyInput{Bucket: &bucket, Policy: &text})
	return err
}

func (bucketPolicies) read(c *call) (map[string]any, error) {
	out, err := c.s3().GetBucketPolicy(c.ctx, &s3.GetBucketPolicyInput{Bucket: &c.request.Identifier})
	if err != nil {
		return nil, err
	}
	var document any
	if err := json.Unmarshal([]byte(*out.Policy), &document); err != nil {
		return nil, invalid("The policy of the bucket is not JSON.")
	}
	return map[string]any{"Bucket": c.request.Identifier, "PolicyDocument": document}, nil
}

func (p bucketPolicies) update(c *call) error {
	if _, err := p.read(c); err != nil {
		return err
	}
	return p.put(c, c.request.Identifier)
}

func (p bucketPolicies) remove(c *call) error {
	if _, err := p.read(c); err != nil {
		return err
	}
	_, err := c.s3().DeleteBucketPolicy(c.ctx, &s3.DeleteBucketPolicyInput{Bucket: &c.request.Identifier})
	return err
}

func (buckets) read(c *call) (map[string]any, error) {
	client, name := c.s3(), c.request.Identifier
	if _, err := client.GetBucketVersioning(c.ctx, &s3.GetBucketVersioningInput{Bucket: &name}); err != nil {
		return nil, err
	}
	partition, region := awswire.PartitionOf(c.request.Caller.Region), c.request.Caller.Region
	model := map[string]any{
		"BucketName": name, "Arn": "arn:" + partition + ":s3:::" + name,
		"DomainName": name + ".s3.amazonaws.com", "RegionalDomainName": name + ".s3." + region + ".amazonaws.com",
		"DualStackDomainName": name + ".s3.dualstack." + region + ".amazonaws.com",
		"WebsiteURL":          "http://" + name + ".s3-website-" + region + ".amazonaws.com",
	}
	for _, part := range bucketParts {
		value, err := part.get(c, client, &name)
		if err != nil {
			return nil, err
		}
		if value != nil {
			model[part.property] = value
		}
	}
	out, err := client.GetBucketTagging(c.ctx, &s3.GetBucketTaggingInput{Bucket: &name})
	if err != nil {
		if _, err := absent(err); err != nil {
			return nil, err
		}
		return model, nil
	}
	tags := map[string]string{}
	for _, tag := range out.TagSet {
		tags[*tag.Key] = *tag.Value
	}
	model["Tags"] = tagList(tags)
	return model, nil
}

func (b buckets) update(c *call) error {
	if _, err := b.read(c); err != nil {
		return err
	}
	return b.apply(c, c.request.Identifier)
}

func (b buckets) remove(c *call) error {
	_, err := c.s3().DeleteBucket(c.ctx, &s3.DeleteBucketInput{Bucket: &c.request.Identifier})
	return err
}

// absent ignores the error that a bucket does not have such a document.
func absent(err error) (any, error) {
	var api smithy.APIError
	if errors.As(err, &api) {
		switch api.ErrorCode() {
		case "NoSuchBucketPolicy", "NoSuchTagSet", "NoSuchPublicAccessBlockConfiguration", "OwnershipControlsNotFoundError",
			"NoSuchLifecycleConfiguration", "NoSuchCORSConfiguration", "ServerSideEncryptionConfigurationNotFoundError":
			return nil, nil
		}
	}
	return nil, err
}

// convert fills an SDK struct from a property whose members have the same names.
func convert(value, target any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(target); err != nil {
		return invalid("S3 does not accept the value: " + strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

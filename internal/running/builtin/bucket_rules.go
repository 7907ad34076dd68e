package builtin

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
)

func putCORS(c *call, client *s3.Client, bucket *string, value any) error {
	if value == nil {
		_, err := client.DeleteBucketCors(c.ctx, &s3.DeleteBucketCorsInput{Bucket: bucket})
		return err
	}
	rules, _ := value.(map[string]any)["CorsRules"].([]any)
	config := &s3types.CORSConfiguration{}
	for _, item := range rules {
		rule, _ := item.(map[string]any)
		out := s3types.CORSRule{
			AllowedHeaders: texts(rule["AllowedHeaders"]), AllowedMethods: texts(rule["AllowedMethods"]),
			AllowedOrigins: texts(rule["AllowedOrigins"]), ExposeHeaders: texts(rule["ExposedHeaders"]),
		}
		if id, ok := rule["Id"].(string); ok {
			out.ID = &id
		}
		if age, ok := number(rule["MaxAge"]); ok {
			out.MaxAgeSeconds = new(int32(age))
		}
		config.CORSRules = append(config.CORSRules, out)
	}
	_, err := client.PutBucketCors(c.ctx, &s3.PutBucketCorsInput{Bucket: bucket, CORSConfiguration: config})
	return err
}

func getCORS(c *call, client *s3.Client, bucket *string) (any, error) {
	found, err := client.GetBucketCors(c.ctx, &s3.GetBucketCorsInput{Bucket: bucket})
	if err != nil {
		return absent(err)
	}
	var rules []any
	for _, rule := range found.CORSRules {
		out := map[string]any{}
		set(out, "Id", rule.ID)
		for name, list := range map[string][]string{
			"AllowedHeaders": rule.AllowedHeaders, "AllowedMethods": rule.AllowedMethods,
			"AllowedOrigins": rule.AllowedOrigins, "ExposedHeaders": rule.ExposeHeaders,
		} {
			if len(list) > 0 {
				items := make([]any, len(list))
				for i, text := range list {
					items[i] = text
				}
				out[name] = items
			}
		}
		if rule.MaxAgeSeconds != nil {
			out["MaxAge"] = float64(*rule.MaxAgeSeconds)
		}
		rules = append(rules, out)
	}
	return map[string]any{"CorsRules": rules}, nil
}

func texts(value any) []string {
	list, _ := value.([]any)
	var out []string
	for _, item := range list {
		out = append(out, fmt.Sprint(item))
	}
	return out
}

// putLogging keeps where access logs would be delivered to. A bucket that names no other one
// logs to itself.
func putLogging(c *call, client *s3.Client, bucket *string, value any) error {
	status := &s3types.BucketLoggingStatus{}
	if member, ok := value.(map[string]any); ok {
		enabled := &s3types.LoggingEnabled{TargetBucket: bucket, TargetPrefix: new("")}
		if name, ok := textPointer(member["DestinationBucketName"]); ok {
			enabled.TargetBucket = name
		}
		if prefix, ok := textPointer(member["LogFilePrefix"]); ok {
			enabled.TargetPrefix = prefix
		}
		if format := member["TargetObjectKeyFormat"]; format != nil {
			enabled.TargetObjectKeyFormat = &s3types.TargetObjectKeyFormat{}
			if err := convert(format, enabled.TargetObjectKeyFormat); err != nil {
				return err
			}
		}
		status.LoggingEnabled = enabled
	}
	_, err := client.PutBucketLogging(c.ctx, &s3.PutBucketLoggingInput{Bucket: bucket, BucketLoggingStatus: status})
	return err
}

func getLogging(c *call, client *s3.Client, bucket *string) (any, error) {
	out, err := client.GetBucketLogging(c.ctx, &s3.GetBucketLoggingInput{Bucket: bucket})
	if err != nil || out.LoggingEnabled == nil {
		return nil, err
	}
	enabled := out.LoggingEnabled
	model := map[string]any{}
	set(model, "DestinationBucketName", enabled.TargetBucket)
	if prefix := enabled.TargetPrefix; prefix != nil && *prefix != "" {
		model["LogFilePrefix"] = *prefix
	}
	if format := enabled.TargetObjectKeyFormat; format != nil {
		member := map[string]any{}
		if format.SimplePrefix != nil {
			member["SimplePrefix"] = map[string]any{}
		}
		if partitioned := format.PartitionedPrefix; partitioned != nil {
			member["PartitionedPrefix"] = map[string]any{"PartitionDateSource": string(partitioned.PartitionDateSource)}
		}
		model["TargetObjectKeyFormat"] = member
	}
	return model, nil
}

package builtin

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
)

func putLifecycle(c *call, client *s3.Client, bucket *string, value any) error {
	if value == nil {
		_, err := client.DeleteBucketLifecycle(c.ctx, &s3.DeleteBucketLifecycleInput{Bucket: bucket})
		return err
	}
	rules, _ := value.(map[string]any)["Rules"].([]any)
	config := &s3types.BucketLifecycleConfiguration{}
	for _, item := range rules {
		rule, _ := item.(map[string]any)
		out, err := lifecycleRule(rule)
		if err != nil {
			return err
		}
		config.Rules = append(config.Rules, out)
	}
	_, err := client.PutBucketLifecycleConfiguration(c.ctx, &s3.PutBucketLifecycleConfigurationInput{Bucket: bucket, LifecycleConfiguration: config})
	return err
}

// lifecycleRule reads the members of a rule that this server can read back, and refuses the
// others by name.
func lifecycleRule(rule map[string]any) (s3types.LifecycleRule, error) {
	out := s3types.LifecycleRule{Filter: &s3types.LifecycleRuleFilter{Prefix: new("")}}
	for name, value := range rule {
		days, isNumber := number(value)
		text, isText := value.(string)
		switch {
		case name == "Id" && isText:
			out.ID = &text
		case name == "Status" && isText:
			out.Status = s3types.ExpirationStatus(text)
		case name == "Prefix" && isText:
			out.Filter.Prefix = &text
		case name == "ExpirationInDays" && isNumber:
			out.Expiration = &s3types.LifecycleExpiration{Days: new(int32(days))}
		case name == "ExpirationDate" && isText:
			at, err := time.Parse(time.RFC3339, text)
			if err != nil {
				return out, invalid("ExpirationDate is not a time: " + text)
			}
			out.Expiration = &s3types.LifecycleExpiration{Date: &at}
		case name == "NoncurrentVersionExpiration":
			member, _ := value.(map[string]any)
			n, ok := number(member["NoncurrentDays"])
			if !ok || len(member) != 1 {
				return out, invalid("NoncurrentVersionExpiration must contain NoncurrentDays and nothing else on this server.")
			}
			out.NoncurrentVersionExpiration = &s3types.NoncurrentVersionExpiration{NoncurrentDays: new(int32(n))}
		case name == "NoncurrentVersionExpirationInDays" && isNumber:
			out.NoncurrentVersionExpiration = &s3types.NoncurrentVersionExpiration{NoncurrentDays: new(int32(days))}
		case name == "AbortIncompleteMultipartUpload":
			member, _ := value.(map[string]any)
			n, ok := number(member["DaysAfterInitiation"])
			if !ok {
				return out, invalid("AbortIncompleteMultipartUpload must contain DaysAfterInitiation.")
			}
			out.AbortIncompleteMultipartUpload = &s3types.AbortIncompleteMultipartUpload{DaysAfterInitiation: new(int32(n))}
		case name == "Transitions":
			list, _ := value.([]any)
			for _, item := range list {
				member, _ := item.(map[string]any)
				n, ok := number(member["TransitionInDays"])
				class, isClass := member["StorageClass"].(string)
				switch {
				case !ok || !isClass || len(member) != 2:
					return out, invalid("A transition must contain StorageClass and TransitionInDays and nothing else on this server.")
				case n < 0:
					return out, invalid("'Days' in the Transition action must be nonnegative.")
				}
				out.Transitions = append(out.Transitions, s3types.Transition{StorageClass: s3types.TransitionStorageClass(class), Days: new(int32(n))})
			}
		default:
			return out, invalid(fmt.Sprintf("The member %s of a lifecycle rule is not supported by this server.", name))
		}
	}
	return out, nil
}

func getLifecycle(c *call, client *s3.Client, bucket *string) (any, error) {
	found, err := client.GetBucketLifecycleConfiguration(c.ctx, &s3.GetBucketLifecycleConfigurationInput{Bucket: bucket})
	if err != nil {
		return absent(err)
	}
	var rules []any
	for _, rule := range found.Rules {
		out := map[string]any{"Status": string(rule.Status)}
		set(out, "Id", rule.ID)
		if rule.Filter != nil && rule.Filter.Prefix != nil && *rule.Filter.Prefix != "" {
			out["Prefix"] = *rule.Filter.Prefix
		}
		if e := rule.Expiration; e != nil && e.Days != nil {
			out["ExpirationInDays"] = float64(*e.Days)
		} else if e != nil && e.Date != nil {
			out["ExpirationDate"] = e.Date.UTC().Format(time.RFC3339)
		}
		if e := rule.NoncurrentVersionExpiration; e != nil && e.NoncurrentDays != nil {
			out["NoncurrentVersionExpiration"] = map[string]any{"NoncurrentDays": float64(*e.NoncurrentDays)}
		}
		if a := rule.AbortIncompleteMultipartUpload; a != nil && a.DaysAfterInitiation != nil {
			out["AbortIncompleteMultipartUpload"] = map[string]any{"DaysAfterInitiation": float64(*a.DaysAfterInitiation)}
		}
		var transitions []any
		for _, t := range rule.Transitions {
			if t.Days != nil {
				transitions = append(transitions, map[string]any{"StorageClass": string(t.StorageClass), "TransitionInDays": float64(*t.Days)})
			}
		}
		if transitions != nil {
			out["Transitions"] = transitions
		}
		rules = append(rules, out)
	}
	return map[string]any{"Rules": rules}, nil
}

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

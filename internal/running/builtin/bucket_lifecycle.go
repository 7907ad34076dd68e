package builtin

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
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

// A lifecycleReader reads a rule of a template into one of S3. The members that select
// objects are collected first: S3 nests them when there are several.
type lifecycleReader struct {
	rule     s3types.LifecycleRule
	selected s3types.LifecycleRuleAndOperator
}

// lifecycleMembers read the members of a rule. They report whether the value has the type
// that the member has.
var lifecycleMembers = map[string]func(r *lifecycleReader, value any) (bool, error){
	"Id":     func(r *lifecycleReader, v any) (ok bool, _ error) { r.rule.ID, ok = textPointer(v); return },
	"Prefix": func(r *lifecycleReader, v any) (ok bool, _ error) { r.selected.Prefix, ok = textPointer(v); return },
	"Status": func(r *lifecycleReader, v any) (bool, error) {
		text, ok := v.(string)
		r.rule.Status = s3types.ExpirationStatus(text)
		return ok, nil
	},
	"ObjectSizeGreaterThan": func(r *lifecycleReader, v any) (ok bool, _ error) {
		r.selected.ObjectSizeGreaterThan, ok = numberPointer[int64](v)
		return
	},
	"ObjectSizeLessThan": func(r *lifecycleReader, v any) (ok bool, _ error) {
		r.selected.ObjectSizeLessThan, ok = numberPointer[int64](v)
		return
	},
	"TagFilters": func(r *lifecycleReader, v any) (bool, error) {
		list, ok := v.([]any)
		for _, item := range list {
			tag, _ := item.(map[string]any)
			key, hasKey := textPointer(tag["Key"])
			value, hasValue := textPointer(tag["Value"])
			ok = ok && hasKey && hasValue
			r.selected.Tags = append(r.selected.Tags, s3types.Tag{Key: key, Value: value})
		}
		return ok, nil
	},
	"ExpirationInDays": func(r *lifecycleReader, v any) (ok bool, _ error) {
		r.expiration().Days, ok = numberPointer[int32](v)
		return
	},
	"ExpirationDate": func(r *lifecycleReader, v any) (ok bool, err error) {
		r.expiration().Date, ok, err = timePointer("ExpirationDate", v)
		return
	},
	"ExpiredObjectDeleteMarker": func(r *lifecycleReader, v any) (bool, error) {
		marker, err := strconv.ParseBool(fmt.Sprint(v))
		r.expiration().ExpiredObjectDeleteMarker = &marker
		return err == nil, nil
	},
	"AbortIncompleteMultipartUpload": func(r *lifecycleReader, v any) (ok bool, _ error) {
		member, _ := v.(map[string]any)
		r.rule.AbortIncompleteMultipartUpload = &s3types.AbortIncompleteMultipartUpload{}
		r.rule.AbortIncompleteMultipartUpload.DaysAfterInitiation, ok = numberPointer[int32](member["DaysAfterInitiation"])
		return
	},
	"NoncurrentVersionExpirationInDays": func(r *lifecycleReader, v any) (ok bool, _ error) {
		r.rule.NoncurrentVersionExpiration = &s3types.NoncurrentVersionExpiration{}
		r.rule.NoncurrentVersionExpiration.NoncurrentDays, ok = numberPointer[int32](v)
		return
	},
	"NoncurrentVersionExpiration": func(r *lifecycleReader, v any) (ok bool, _ error) {
		member, _ := v.(map[string]any)
		out := &s3types.NoncurrentVersionExpiration{}
		out.NoncurrentDays, ok = numberPointer[int32](member["NoncurrentDays"])
		out.NewerNoncurrentVersions, _ = numberPointer[int32](member["NewerNoncurrentVersions"])
		r.rule.NoncurrentVersionExpiration = out
		return
	},
	"Transition":                   func(r *lifecycleReader, v any) (bool, error) { return true, r.transitions([]any{v}) },
	"Transitions":                  func(r *lifecycleReader, v any) (bool, error) { return isList(v), r.transitions(v) },
	"NoncurrentVersionTransition":  func(r *lifecycleReader, v any) (bool, error) { return true, r.noncurrent([]any{v}) },
	"NoncurrentVersionTransitions": func(r *lifecycleReader, v any) (bool, error) { return isList(v), r.noncurrent(v) },
}

// lifecycleRule reads a rule, and refuses members that it does not know by name.
func lifecycleRule(rule map[string]any) (s3types.LifecycleRule, error) {
	r := &lifecycleReader{}
	for _, name := range slices.Sorted(maps.Keys(rule)) {
		read := lifecycleMembers[name]
		if read == nil {
			return r.rule, invalid(fmt.Sprintf("The member %s of a lifecycle rule is not supported by this server.", name))
		}
		ok, err := read(r, rule[name])
		if err == nil && !ok {
			err = invalid(fmt.Sprintf("The value of %s in a lifecycle rule is invalid.", name))
		}
		if err != nil {
			return r.rule, err
		}
	}
	r.filter()
	return r.rule, nil
}

// filter makes the filter of what selects objects.
func (r *lifecycleReader) filter() {
	s := &r.selected
	several := len(s.Tags)
	for _, there := range []bool{s.Prefix != nil, s.ObjectSizeGreaterThan != nil, s.ObjectSizeLessThan != nil} {
		if there {
			several++
		}
	}
	r.rule.Filter = &s3types.LifecycleRuleFilter{}
	switch {
	case several > 1:
		r.rule.Filter.And = s
	case len(s.Tags) == 1:
		r.rule.Filter.Tag = &s.Tags[0]
	case several == 0:
		r.rule.Filter.Prefix = new("")
	default:
		r.rule.Filter.Prefix, r.rule.Filter.ObjectSizeGreaterThan, r.rule.Filter.ObjectSizeLessThan = s.Prefix, s.ObjectSizeGreaterThan, s.ObjectSizeLessThan
	}
}

func (r *lifecycleReader) expiration() *s3types.LifecycleExpiration {
	if r.rule.Expiration == nil {
		r.rule.Expiration = &s3types.LifecycleExpiration{}
	}
	return r.rule.Expiration
}

func (r *lifecycleReader) transitions(value any) error {
	list, _ := value.([]any)
	for _, item := range list {
		member, _ := item.(map[string]any)
		class, isClass := member["StorageClass"].(string)
		days, inDays := numberPointer[int32](member["TransitionInDays"])
		date, atDate, err := timePointer("TransitionDate", member["TransitionDate"])
		switch {
		case atDate && err != nil:
			return err
		case !isClass || inDays == atDate:
			return invalid("A transition must contain StorageClass, and either TransitionInDays or TransitionDate.")
		case inDays && *days < 0:
			return invalid("'Days' in the Transition action must be nonnegative.")
		}
		r.rule.Transitions = append(r.rule.Transitions, s3types.Transition{StorageClass: s3types.TransitionStorageClass(class), Days: days, Date: date})
	}
	return nil
}

func (r *lifecycleReader) noncurrent(value any) error {
	list, _ := value.([]any)
	for _, item := range list {
		member, _ := item.(map[string]any)
		class, isClass := member["StorageClass"].(string)
		days, inDays := numberPointer[int32](member["TransitionInDays"])
		if !isClass || !inDays {
			return invalid("A transition of noncurrent versions must contain StorageClass and TransitionInDays.")
		}
		newer, _ := numberPointer[int32](member["NewerNoncurrentVersions"])
		r.rule.NoncurrentVersionTransitions = append(r.rule.NoncurrentVersionTransitions, s3types.NoncurrentVersionTransition{
			StorageClass: s3types.TransitionStorageClass(class), NoncurrentDays: days, NewerNoncurrentVersions: newer,
		})
	}
	return nil
}

func isList(value any) bool { _, ok := value.([]any); return ok }

func textPointer(value any) (*string, bool) {
	text, ok := value.(string)
	if !ok {
		return nil, false
	}
	return &text, true
}

func numberPointer[N int32 | int64](value any) (*N, bool) {
	n, ok := number(value)
	if !ok || int(N(n)) != n {
		return nil, false
	}
	return new(N(n)), true
}

// timePointer reports in addition whether there is a text to read.
func timePointer(name string, value any) (*time.Time, bool, error) {
	text, ok := value.(string)
	if !ok {
		return nil, false, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil, true, invalid(name + " is not a time: " + text)
	}
	return &at, true, nil
}

func getLifecycle(c *call, client *s3.Client, bucket *string) (any, error) {
	found, err := client.GetBucketLifecycleConfiguration(c.ctx, &s3.GetBucketLifecycleConfigurationInput{Bucket: bucket})
	if err != nil {
		return absent(err)
	}
	rules := make([]any, len(found.Rules))
	for i, rule := range found.Rules {
		rules[i] = lifecycleModel(rule)
	}
	return map[string]any{"Rules": rules}, nil
}

// lifecycleModel converts a rule of S3 to its form in a template.
func lifecycleModel(rule s3types.LifecycleRule) map[string]any {
	out := map[string]any{"Status": string(rule.Status)}
	set(out, "Id", rule.ID)
	if f := rule.Filter; f != nil {
		all := s3types.LifecycleRuleAndOperator{Prefix: f.Prefix, ObjectSizeGreaterThan: f.ObjectSizeGreaterThan, ObjectSizeLessThan: f.ObjectSizeLessThan}
		if f.And != nil {
			all = *f.And
		} else if f.Tag != nil {
			all.Tags = []s3types.Tag{*f.Tag}
		}
		selectedModel(out, all)
	}
	if e := rule.Expiration; e != nil {
		setNumber(out, "ExpirationInDays", e.Days)
		setTime(out, "ExpirationDate", e.Date)
		set(out, "ExpiredObjectDeleteMarker", e.ExpiredObjectDeleteMarker)
	}
	if e := rule.NoncurrentVersionExpiration; e != nil {
		member := map[string]any{}
		setNumber(member, "NoncurrentDays", e.NoncurrentDays)
		setNumber(member, "NewerNoncurrentVersions", e.NewerNoncurrentVersions)
		out["NoncurrentVersionExpiration"] = member
	}
	if a := rule.AbortIncompleteMultipartUpload; a != nil && a.DaysAfterInitiation != nil {
		out["AbortIncompleteMultipartUpload"] = map[string]any{"DaysAfterInitiation": float64(*a.DaysAfterInitiation)}
	}
	var transitions, noncurrent []any
	for _, t := range rule.Transitions {
		member := map[string]any{"StorageClass": string(t.StorageClass)}
		setNumber(member, "TransitionInDays", t.Days)
		setTime(member, "TransitionDate", t.Date)
		transitions = append(transitions, member)
	}
	for _, t := range rule.NoncurrentVersionTransitions {
		member := map[string]any{"StorageClass": string(t.StorageClass)}
		setNumber(member, "TransitionInDays", t.NoncurrentDays)
		setNumber(member, "NewerNoncurrentVersions", t.NewerNoncurrentVersions)
		noncurrent = append(noncurrent, member)
	}
	for name, list := range map[string][]any{"Transitions": transitions, "NoncurrentVersionTransitions": noncurrent} {
		if list != nil {
			out[name] = list
		}
	}
	return out
}

// selectedModel adds the members that select objects.
func selectedModel(out map[string]any, selected s3types.LifecycleRuleAndOperator) {
	if aws.ToString(selected.Prefix) != "" {
		out["Prefix"] = *selected.Prefix
	}
	for name, size := range map[string]*int64{"ObjectSizeGreaterThan": selected.ObjectSizeGreaterThan, "ObjectSizeLessThan": selected.ObjectSizeLessThan} {
		if size != nil {
			out[name] = strconv.FormatInt(*size, 10) // the schema of the type has a string
		}
	}
	var tags []any
	for _, tag := range selected.Tags {
		tags = append(tags, map[string]any{"Key": aws.ToString(tag.Key), "Value": aws.ToString(tag.Value)})
	}
	if tags != nil {
		out["TagFilters"] = tags
	}
}

func setNumber(model map[string]any, name string, value *int32) {
	if value != nil {
		model[name] = float64(*value)
	}
}

func setTime(model map[string]any, name string, value *time.Time) {
	if value != nil {
		model[name] = value.UTC().Format(time.RFC3339)
	}
}

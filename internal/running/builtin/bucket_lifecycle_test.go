package builtin

import (
	"reflect"
	"testing"
)

// TestLifecycle takes rules of templates to S3's form and back.
func TestLifecycle(t *testing.T) {
	type object = map[string]any
	type list = []any
	days := func(n float64) object { return object{"DaysAfterInitiation": n} }
	for name, test := range map[string]struct{ rule, want object }{ // want nil is rule
		"plain":          {rule: object{"Status": "Enabled", "Id": "a", "AbortIncompleteMultipartUpload": days(1)}},
		"strings":        {object{"Status": "Enabled", "ExpirationInDays": "30", "ExpiredObjectDeleteMarker": "true"}, object{"Status": "Enabled", "ExpirationInDays": 30.0, "ExpiredObjectDeleteMarker": true}},
		"delete markers": {rule: object{"Status": "Enabled", "ExpiredObjectDeleteMarker": true}},
		"date":           {rule: object{"Status": "Disabled", "ExpirationDate": "2030-01-01T00:00:00Z"}},
		"prefix":         {rule: object{"Status": "Enabled", "Prefix": "logs/"}},
		"size":           {rule: object{"Status": "Enabled", "ObjectSizeLessThan": "5000000000"}},
		"one tag":        {rule: object{"Status": "Enabled", "TagFilters": list{object{"Key": "a", "Value": ""}}}},
		"all filters": {rule: object{
			"Status": "Enabled", "Prefix": "logs/", "ObjectSizeGreaterThan": "1", "ObjectSizeLessThan": "2",
			"TagFilters": list{object{"Key": "a", "Value": "1"}, object{"Key": "b", "Value": "2"}},
		}},
		"noncurrent": {rule: object{"Status": "Enabled", "NoncurrentVersionExpiration": object{"NoncurrentDays": 1.0, "NewerNoncurrentVersions": 3.0}}},
		"noncurrent, old form": {
			object{"Status": "Enabled", "NoncurrentVersionExpirationInDays": 7.0, "NoncurrentVersionTransition": object{"StorageClass": "GLACIER", "TransitionInDays": 3.0}},
			object{
				"Status": "Enabled", "NoncurrentVersionExpiration": object{"NoncurrentDays": 7.0},
				"NoncurrentVersionTransitions": list{object{"StorageClass": "GLACIER", "TransitionInDays": 3.0}},
			},
		},
		"transitions": {rule: object{
			"Status":                       "Enabled",
			"Transitions":                  list{object{"StorageClass": "GLACIER", "TransitionInDays": 0.0}, object{"StorageClass": "DEEP_ARCHIVE", "TransitionDate": "2030-01-01T00:00:00Z"}},
			"NoncurrentVersionTransitions": list{object{"StorageClass": "GLACIER", "TransitionInDays": 3.0, "NewerNoncurrentVersions": 2.0}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			rule, err := lifecycleRule(test.rule)
			if err != nil {
				t.Fatal(err)
			}
			want := test.want
			if want == nil {
				want = test.rule
			}
			if got := lifecycleModel(rule); !reflect.DeepEqual(got, want) {
				t.Errorf("got  %v\nwant %v", got, want)
			}
		})
	}
}

package operation

import (
	"strings"
	"testing"
)

func TestNamePrefix(t *testing.T) {
	long, logical := "amplify-d2h5jciat66rkz-main-branch-x", "amplifydataamplifycodegenassets"
	for _, test := range []struct {
		stack, logical string
		limit          int
		want           string
	}{
		{"app", "Bucket", 50, "app-Bucket"},
		{long, logical, 50, "amplify-d2h5jciat66rkz-ma-amplifydataamplifycodege"},
		{"CdkStack", "CustomS3AutoDeleteObjectsCustomResourceProviderRole", 51, "CdkStack-CustomS3AutoDeleteObjectsCustomResourcePro"},
		{long, "Role", 30, "amplify-d2h5jciat66rkz-ma-Role"},
		{"", "Bucket", 50, "Bucket"},
		{"app", "", 50, "app"},
		{"app", "Bucket", 0, ""},
		{strings.Repeat("s", 128), strings.Repeat("L", 255), 4, "ss-L"},
	} {
		if got := NamePrefix(test.stack, test.logical, test.limit); got != test.want || len(got) > test.limit {
			t.Errorf("%s, %s, %d: got %s, want %s", test.stack, test.logical, test.limit, got, test.want)
		}
	}
}

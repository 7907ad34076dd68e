package registry

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/awswire"
	"github.com/formwork-dev/formwork/internal/schema"
)

// A typeARN names a type or one version of it:
//
//	private  arn:aws:cloudformation:us-east-1:123456789012:type/resource/Org-Svc-Res/00000001
//	public   arn:aws:cloudformation:us-east-1::type/resource/<publisher>/Org-Svc-Res/1.0.0
//	of AWS   arn:aws:cloudformation:us-east-1::type/resource/AWS-S3-Bucket
type typeARN struct {
	Partition, Region string
	Account           string // "" of public types
	Kind              schema.Kind
	Publisher         string // "" but for public types of third parties
	TypeName          string // Org::Svc::Res
	Version           string // "00000001" or "1.0.0"; "" for the type itself
}

// privateARN is the ARN of a type that the caller's account has: registered or activated,
// whose TypeName is then the alias.
func privateARN(caller awswire.Caller, kind schema.Kind, typeName string) typeARN {
	return typeARN{Partition: caller.Partition(), Region: caller.Region, Account: caller.Account, Kind: kind, TypeName: typeName}
}

// publicARN is the ARN of a published type in the region of the caller.
func publicARN(caller awswire.Caller, kind schema.Kind, publisher, typeName string) typeARN {
	return typeARN{Partition: caller.Partition(), Region: caller.Region, Kind: kind, Publisher: publisher, TypeName: typeName}
}

// WithVersion is the ARN of one version, "" for that of the type.
func (a typeARN) WithVersion(version string) typeARN {
	a.Version = version
	return a
}

// Public tells whether the type belongs to no account.
func (a typeARN) Public() bool { return a.Account == "" }

func (a typeARN) String() string {
	return a.text("type")
}

// Configuration is the ARN of the type's configuration under an alias.
func (a typeARN) Configuration(alias string) string {
	a.Version = alias
	return a.text("type-configuration")
}

func (a typeARN) text(what string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "arn:%s:cloudformation:%s:%s:%s/%s/", a.Partition, a.Region, a.Account, what, strings.ToLower(string(a.Kind)))
	if a.Publisher != "" {
		b.WriteString(a.Publisher + "/")
	}
	b.WriteString(strings.ReplaceAll(a.TypeName, "::", "-"))
	if a.Version != "" {
		b.WriteString("/" + a.Version)
	}
	return b.String()
}

// versionID is the id of a private version: 8 digits at least.
func versionID(number int64) string { return fmt.Sprintf("%08d", number) }

// versionNumber reads an id back; "1" and "00000001" are the same version.
func versionNumber(id string) (int64, bool) {
	number, err := strconv.ParseInt(id, 10, 64)
	return number, err == nil && number > 0 && !strings.HasPrefix(id, "+")
}

var arnPattern = regexp.MustCompile(`\Aarn:(aws[A-Za-z0-9-]{0,64}):cloudformation:([A-Za-z0-9-]{1,64}):([0-9]{12})?:(type|type-configuration)/(resource|module|hook)/` +
	`(?:([0-9a-zA-Z]{12,40})/)?([A-Za-z0-9]{2,64}-[A-Za-z0-9]{2,64}-[A-Za-z0-9]{2,64}(?:-MODULE)?)(?:/([^/]+))?\z`)

// parseTypeARN reads the ARN of a type or a version. What is no such ARN is refused in the
// words of the service.
func parseTypeARN(text string) (typeARN, error) {
	arn, what, ok := parseARN(text)
	if !ok || what != "type" {
		return typeARN{}, refuse("TypeName is invalid")
	}
	return arn, nil
}

// parseConfigurationARN reads the ARN of a type configuration.
func parseConfigurationARN(text string) (arn typeARN, alias string, err error) {
	arn, what, ok := parseARN(text)
	if !ok || what != "type-configuration" || arn.Version == "" {
		return typeARN{}, "", refuse("TypeConfigurationArn '%s' is not the ARN of a type configuration.", text)
	}
	alias, arn.Version = arn.Version, ""
	return arn, alias, nil
}

func parseARN(text string) (arn typeARN, what string, ok bool) {
	if len(text) > 1024 {
		return typeARN{}, "", false
	}
	m := arnPattern.FindStringSubmatch(text)
	if m == nil {
		return typeARN{}, "", false
	}
	return typeARN{
		Partition: m[1], Region: m[2], Account: m[3],
		Kind: schema.Kind(strings.ToUpper(m[5])), Publisher: m[6],
		TypeName: strings.ReplaceAll(m[7], "-", "::"), Version: m[8],
	}, m[4], true
}

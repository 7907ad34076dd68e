package schema

import (
	"fmt"
	"strings"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// A TypeARN names a type of the registry, one version of it, or its configuration under an
// alias:
//
//	private  arn:aws:cloudformation:us-east-1:123456789012:type/resource/Org-Svc-Res/00000001
//	public   arn:aws:cloudformation:us-east-1::type/resource/<publisher>/Org-Svc-Res/1.0.0
//	of AWS   arn:aws:cloudformation:us-east-1::type/resource/AWS-S3-Bucket
//	         arn:aws:cloudformation:us-east-1:123456789012:type-configuration/resource/Org-Svc-Res/default
type TypeARN struct {
	Partition, Region string
	Account           string // "" of public types
	Kind              Kind
	Publisher         string // "" but for public types of third parties
	TypeName          string // Org::Svc::Res
	Version           string // "00000001" or "1.0.0"; "" for the type itself
}

// WithVersion is the ARN of one version, "" for that of the type.
func (a TypeARN) WithVersion(version string) TypeARN {
	a.Version = version
	return a
}

// Public reports whether the type belongs to no account.
func (a TypeARN) Public() bool { return a.Account == "" }

func (a TypeARN) String() string { return a.text("type") }

// Configuration is the ARN of the type's configuration under an alias.
func (a TypeARN) Configuration(alias string) string {
	a.Version = alias
	return a.text("type-configuration")
}

func (a TypeARN) text(what string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "arn:%s:cloudformation:%s:%s:%s/%s/", a.Partition, a.Region, a.Account, what, strings.ToLower(string(a.Kind)))
	if a.Publisher != "" {
		b.WriteString(a.Publisher + "/")
	}
	b.WriteString(Dashed(a.TypeName))
	if a.Version != "" {
		b.WriteString("/" + a.Version)
	}
	return b.String()
}

var typeARN = lazyregexp.New(`\Aarn:(aws[A-Za-z0-9-]{0,64}):cloudformation:([A-Za-z0-9-]{1,64}):([0-9]{12})?:(type|type-configuration)/(resource|module|hook)/` +
	`(?:([0-9a-zA-Z]{12,40})/)?([A-Za-z0-9]{2,64}-[A-Za-z0-9]{2,64}-[A-Za-z0-9]{2,64}(?:-MODULE)?)(?:/([!-.0-~]+))?\z`)

// maxARN is how long an ARN may be, in bytes.
const maxARN = 1024

// ParseTypeARN reads the ARN of a type or of a version. It says false for anything else.
func ParseTypeARN(text string) (TypeARN, bool) {
	arn, what, ok := parseARN(text)
	return arn, ok && what == "type"
}

// ParseConfigurationARN reads the ARN of a type's configuration: the type, and the alias of
// the configuration. It says false for anything else.
func ParseConfigurationARN(text string) (arn TypeARN, alias string, ok bool) {
	arn, what, ok := parseARN(text)
	alias, arn.Version = arn.Version, ""
	return arn, alias, ok && what == "type-configuration" && alias != ""
}

func parseARN(text string) (arn TypeARN, what string, ok bool) {
	if len(text) > maxARN {
		return TypeARN{}, "", false
	}
	m := typeARN.FindStringSubmatch(text)
	if m == nil {
		return TypeARN{}, "", false
	}
	return TypeARN{
		Partition: m[1], Region: m[2], Account: m[3],
		Kind: Kind(strings.ToUpper(m[5])), Publisher: m[6],
		TypeName: strings.ReplaceAll(m[7], "-", "::"), Version: m[8],
	}, m[4], true
}

package simulate

import (
	"slices"
	"strings"
	"unicode"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// text makes up a text: a guess that the schema accepts, else what its pattern spells out, else its example. Of these it is
// the first one that most properties accept that take it from the resource.
func (m *maker) text(node *document.Value, at document.Pointer) any {
	guesses := m.guesses(node, at)
	var takers []string
	if len(at) == 1 && m.typ.IsReadOnly(at) {
		takers = m.takers.patterns(m.request.Type, at[0])
	}
	if pattern := node.Get("pattern"); pattern != nil {
		guesses = append(guesses, m.spelled(pattern.Text, at)...)
	}
	for _, pattern := range takers {
		guesses = append(guesses, m.spelled(pattern, at)...)
	}
	best, least := "", len(takers)+1
	for _, guess := range guesses {
		if least == 0 {
			break
		}
		if n := unmatched(takers, guess); n < least && m.fits(guess, node) {
			best, least = guess, n
		}
	}
	if least <= len(takers) {
		return best
	}
	if examples := node.Get("examples"); examples != nil && len(examples.Items) > 0 {
		return examples.Items[0].Any()
	}
	return nil
}

// propertyName is the name of a property without the index of a list.
func propertyName(at document.Pointer) string {
	for _, token := range slices.Backward(at) {
		if token != "*" {
			return token
		}
	}
	return ""
}

// guesses are texts that a property of the name and the format may have, the best one first.
func (m *maker) guesses(node *document.Value, at document.Pointer) []string {
	guesses := m.byFormat(node)
	guesses = append(guesses, m.described(node)...)
	name := propertyName(at)
	if at[len(at)-1] == "*" {
		name = strings.TrimSuffix(name, "s")
	}
	lower := strings.ToLower(name)
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.HasSuffix(lower, part) })
	}
	host := "${low:12}.${service}.${region}.${dns}"
	identifier := slices.ContainsFunc(m.typ.PrimaryIdentifier, func(p schema.Path) bool { return slices.Equal(p.Tokens, at) })
	switch {
	case has("arn"):
		return append(guesses, m.arns(at)...)
	case identifier && !m.typ.IsReadOnly(at), has("name") && !has("domainname", "hostname", "dnsname"):
		return append(guesses, m.nameFor(node))
	case has("url", "uri"):
		guesses = append(guesses, m.expand("https://"+host))
	case has("dns", "domainname", "hostname", "dnsname", "endpoint", "domain"):
		guesses = append(guesses, m.expand(host))
	case has("cidr", "cidrblock"):
		guesses = append(guesses, m.expand("10.${num:2}.0.0/16"), m.expand("${net6}"))
	case has("ip", "ipaddress"):
		guesses = append(guesses, m.expand("${ip}"))
	case has("address", "addresse"):
		guesses = append(guesses, m.expand(host), m.expand("${ip}"))
	case has("time", "at", "date", "timestamp"):
		guesses = append(guesses, m.timestamp(), m.now.UTC().Format("2006-01-02"))
	case has("status", "state"):
		guesses = append(guesses, settledStates...)
	case has("region"):
		guesses = append(guesses, m.request.Caller.Region)
	case has("account", "accountid"):
		guesses = append(guesses, m.request.Caller.Account)
	case has("port"):
		guesses = append(guesses, "443")
	case has("version", "versionnumber", "revision"):
		guesses = append(guesses, "1", "1.0", "1.0.0")
	case has("id", "identifier"):
		guesses = append(guesses, m.ids(name)...)
	case identifier:
		guesses = append(guesses, m.nameFor(node))
	}
	return append(guesses, "simulated-"+m.random(8, hexDigits))
}

// byFormat are the guesses for a format: one of JSON Schema, or the attribute of another type.
func (m *maker) byFormat(node *document.Value) []string {
	format := node.Get("format")
	if format == nil {
		return nil
	}
	switch format.Text {
	case "date-time", "timestamp":
		return []string{m.timestamp()}
	case "date":
		return []string{m.now.UTC().Format("2006-01-02")}
	case "ipv4":
		return []string{m.expand("${ip}")}
	case "uri":
		return []string{m.expand("https://${low:12}.${service}.${region}.${dns}")}
	}
	if of, attribute, found := strings.Cut(format.Text, "."); found && of != m.request.Type {
		for _, f := range forms().types[of] {
			if len(f.at) == 1 && strings.HasSuffix(f.at[0], attribute) && !ownProperty.MatchString(f.text) {
				return []string{m.expand(f.text)}
			}
		}
	}
	return nil
}

var (
	// ownProperty is a variable in a form that only a resource of the type has.
	ownProperty = lazyregexp.New(`\$\{[A-Z]`)

	writtenID  = lazyregexp.New(`\b([a-z]+(?:-[a-z]+)*-)[0-9a-f]{8,17}\b`)
	writtenARN = lazyregexp.New(`\barn:aws[a-z-]*:[a-z0-9-]+:[a-z0-9-]*:[0-9]*:[A-Za-z-]+[:/]`)
)

// described are the identifiers that the description of a property shows.
func (m *maker) described(node *document.Value) []string {
	description := node.Get("description")
	if description == nil {
		return nil
	}
	var out []string
	if found := writtenARN.FindString(description.Text); found != "" {
		parts := strings.SplitN(found, ":", 6)
		parts[1] = m.expand("${partition}")
		if parts[3] != "" {
			parts[3] = m.request.Caller.Region
		}
		if parts[4] != "" {
			parts[4] = m.request.Caller.Account
		}
		out = append(out, strings.Join(parts, ":")+m.uuid())
	}
	if found := writtenID.FindStringSubmatch(description.Text); found != nil {
		out = append(out, found[1]+m.random(17, hexDigits))
	}
	return out
}

// ids are guesses for an identifier that the service makes up.
func (m *maker) ids(name string) []string {
	service, last := m.typeParts()
	guesses := []string{m.uuid(), m.random(10, digits+lowers), m.random(17, hexDigits), m.random(13, digits+uppers), m.random(12, digits)}
	if service == "EC2" {
		kind := strings.TrimSuffix(name, "Id")
		if kind == "" {
			kind = last
		}
		guesses = append([]string{kebab(kind) + "-" + guesses[2]}, guesses...)
	}
	return guesses
}

// typeParts are the second and the third part of the name of the type.
func (m *maker) typeParts() (service, last string) {
	parts := strings.Split(m.request.Type, "::")
	if len(parts) < 3 {
		return "Service", "Resource"
	}
	return parts[1], parts[2]
}

// elsewhere are the ARNs of what resources of other services often refer to, by the end of the name of the property.
var elsewhere = map[string]string{
	"SecretArn": "arn:${partition}:secretsmanager:${region}:${account}:secret:${name:64}-${mix:6}",
	"RoleArn":   "arn:${partition}:iam::${account}:role/${name:64}",
	"KeyArn":    "arn:${partition}:kms:${region}:${account}:key/${uuid}",
	"TopicArn":  "arn:${partition}:sns:${region}:${account}:${name:200}",
}

// arns are guesses for an ARN: with the identifier of the resource, else with a name that cannot change, else with one
// that is made up. An input that other resources can have too is no part of it.
func (m *maker) arns(at document.Pointer) []string {
	service, last := m.typeParts()
	property := propertyName(at)
	kind := kebab(last)
	own := m.uuid()
	switch of := strings.TrimSuffix(strings.TrimSuffix(property, "Arn"), "ARN"); {
	case of != "" && !strings.HasSuffix(last, of):
		for end, form := range elsewhere {
			if strings.HasSuffix(property, end) {
				return []string{m.expand(form)}
			}
		}
		kind = kebab(of)
	default:
		own = m.ownID(at, own)
	}
	prefix := m.expand("arn:${partition}:${service}:${region}:${account}:")
	if service == "IAM" || service == "CloudFront" || service == "Route53" || service == "GlobalAccelerator" || service == "Organizations" {
		prefix = m.expand("arn:${partition}:${service}::${account}:")
	}
	return []string{prefix + kind + "/" + own, prefix + kind + ":" + own, prefix + own}
}

func (m *maker) ownID(at document.Pointer, made string) string {
	for _, path := range slices.Backward(m.typ.PrimaryIdentifier) {
		if slices.Equal(path.Tokens, at) || strings.HasSuffix(strings.ToLower(path.Tokens[len(path.Tokens)-1]), "arn") {
			continue
		}
		if own := m.property(path.Tokens); own != "" {
			return own
		}
	}
	_, last := m.typeParts()
	for _, property := range m.typ.Properties() {
		name, at := property.Key, document.Pointer{property.Key}
		switch {
		case m.typ.IsReadOnly(at) && (name == "Id" || name == last+"Id"):
			return m.property(at)
		case m.typ.IsCreateOnly(at) && (name == "Name" || name == last+"Name") && m.model[name] != nil:
			return text(m.model[name])
		}
	}
	return made
}

// kebab is a name in the way that ARNs have it: TaskDefinition is task-definition.
func kebab(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

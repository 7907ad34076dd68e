package api

import (
	"bytes"
	"encoding/json"

	"github.com/formwork-dev/formwork/internal/foundation/document"
)

// JSON is the text of the binding, indented.
func (b *Binding) JSON() []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(b); err != nil {
		return nil // a binding always has a JSON form
	}
	return out.Bytes()
}

// configuration is the schema of the type configuration: where the service is, and the credentials
// for it. A copy in the registry contains them, so that users write dynamic references to secrets.
func (b *Binding) configuration(builder *schemaBuilder) *document.Value {
	described := func(description string) *document.Value {
		return obj("type", document.NewString("string"), "description", document.NewString(description))
	}
	group := func(required []string, members *document.Value) *document.Value {
		return obj("type", document.NewString("object"), "properties", members, "required", texts(required), "additionalProperties", document.NewBool(false))
	}
	where := "The URL of the service."
	if b.Endpoint != "" {
		where = "The URL of the service, if it is not " + b.Endpoint + "."
	}
	properties := obj("Endpoint", described(where))
	switch b.Auth.Kind {
	case "bearer":
		properties.Set("BearerToken", described("The token for the service, as a dynamic reference to a secret."))
	case "basic":
		properties.Set("Basic", group([]string{"Username", "Password"}, obj(
			"Username", described("The name of the user."), "Password", described("The password, as a dynamic reference to a secret."))))
	case "oauth2":
		properties.Set("OAuth", group([]string{"ClientId", "ClientSecret"}, obj(
			"ClientId", described("The client."), "ClientSecret", described("The secret of the client, as a dynamic reference to a secret."),
			"TokenUrl", described("Where tokens are requested, if it is not the URL of the description."), "Scopes", described("The scopes, separated by spaces."))))
	case "sigv4":
		properties.Set("Region", described("The region of the service, if it is not that of the stack."))
	}
	for _, key := range b.Auth.Keys {
		property := described(key.doc)
		if key.shape != nil {
			for _, m := range builder.text(key.shape, key.Property).Members {
				property.Set(m.Key, m.Value)
			}
		}
		properties.Set(key.Property, property)
	}
	return obj("properties", properties, "additionalProperties", document.NewBool(false))
}

// texts is a list of strings.
func texts(list []string) *document.Value {
	out := document.NewArray()
	for _, text := range list {
		out.Items = append(out.Items, document.NewString(text))
	}
	return out
}

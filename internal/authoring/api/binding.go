package api

import (
	"encoding/json"
	"slices"
)

// A Binding says how the handlers of a derived type call its API: which values each call takes
// from the model and what it returns. As JSON it is a file of a generated project, which
// the client of every language reads. Names of properties are those of the schema.
type Binding struct {
	Comment    string    `json:"$comment"` // marks the file as generated
	TypeName   string    `json:"typeName"`
	API        string    `json:"api"`
	Protocol   string    `json:"protocol"`            // openapi, restJson1, awsJson1_0, awsJson1_1, awsQuery or restXml
	Version    string    `json:"version,omitempty"`   // of awsQuery: the parameter Version
	Namespace  string    `json:"namespace,omitempty"` // of restXml: the namespace of bodies
	Endpoint   string    `json:"endpoint,omitempty"`
	Auth       BoundAuth `json:"auth"`
	Identifier []string  `json:"identifier"`

	Create   *Call                    `json:"create"`
	Read     *Call                    `json:"read"`
	Update   []*Call                  `json:"update,omitempty"`
	Delete   *Call                    `json:"delete"`
	List     *Call                    `json:"list,omitempty"`
	Tags     *BoundTags               `json:"tags,omitempty"` // nil unless operations of their own change tags
	Wait     *Wait                    `json:"wait,omitempty"` // nil if there is nothing to wait for
	Find     Find                     `json:"find"`
	Statuses map[string]string        `json:"statuses"` // handler error codes by HTTP status
	Shapes   map[string][]BoundMember `json:"shapes,omitempty"`
}

// BoundAuth says how requests are authenticated. Credentials are those of the type configuration;
// for sigv4 those of the call.
type BoundAuth struct {
	Kind     string     `json:"kind"`               // what the header Authorization has: bearer, basic, oauth2, sigv4 or none
	TokenURL string     `json:"tokenUrl,omitempty"` // of oauth2
	Service  string     `json:"service,omitempty"`  // of sigv4: the signing name
	Keys     []BoundKey `json:"keys,omitempty"`
}

// A BoundKey is a value of the type configuration that every request has: a key, or a header that the API requires.
type BoundKey struct {
	In       string `json:"in"` // header, query or cookie
	Name     string `json:"name"`
	Property string `json:"property"` // of the type configuration
	Secret   bool   `json:"secret,omitempty"`

	doc   string
	shape *Shape // nil if it can be any text
}

// Fixed is a value that is the same in every request of a call.
type Fixed struct {
	Spot
	Value string `json:"value"`
}

// A Call is one operation.
type Call struct {
	Name        string   `json:"name"` // "CreateOrder" or "POST /orders"
	Method      string   `json:"method"`
	Path        string   `json:"path"`             // with labels: {id}, or greedy {path+}
	Host        string   `json:"host,omitempty"`   // what comes before the host of the endpoint, with labels, unless the endpoint is that of the configuration
	Target      string   `json:"target,omitempty"` // of awsJson: X-Amz-Target
	ContentType string   `json:"contentType,omitempty"`
	Accept      string   `json:"accept,omitempty"`
	Root        string   `json:"root,omitempty"`   // of restXml: the element that is the body of the request
	Result      string   `json:"result,omitempty"` // of awsQuery: the element within the response that paths start from
	Send        []Bound  `json:"send,omitempty"`
	Receive     []Bound  `json:"receive,omitempty"`  // from the body of the response, of a list from each item, and from headers
	Envelope    string   `json:"envelope,omitempty"` // a member of the body that is sent even if nothing is in it
	Fixed       []Fixed  `json:"fixed,omitempty"`
	Token       *Spot    `json:"token,omitempty"`   // where the idempotency token is sent
	Changes     []string `json:"changes,omitempty"` // of an update: the properties that it sets
	Partial     bool     `json:"partial,omitempty"` // of an update: it sends only what changed
	Items       []string `json:"items,omitempty"`   // of a list, and of calls that return several: the path of the items in the body; empty if the body is the list; in XML the last name is the element of each
	Among       bool     `json:"among,omitempty"`   // of a read or create: the response has several resources
	Page        *Page    `json:"page,omitempty"`

	Errors map[string]string `json:"errors,omitempty"` // handler error codes by the names of errors, or by HTTP status
}

// unremovable are the properties that an update sets, and that stay as they are if a template leaves them out: the
// operation requires a value, or has none that removes, and only PUT and what creates, too, are known to replace everything.
func (b *Binding) unremovable() (names []string) {
	for _, update := range b.Update {
		replaces := update.Method == "PUT" || update.Name == b.Create.Name
		for _, s := range update.Send {
			optional := !slices.ContainsFunc(b.Create.Send, func(c Bound) bool { return c.Property == s.Property && c.Required })
			if optional && slices.Contains(update.Changes, s.Property) && s.Reset == nil && (s.Required || !replaces) {
				names = append(names, s.Property)
			}
		}
	}
	return names
}

// A Spot is a place in a request or, of what is received, in a response.
type Spot struct {
	In string   `json:"in"` // path, query, header or body; host for a label of Call.Host
	At []string `json:"at"` // a name; in the body a path, empty for the whole body
}

// A Bound is a value of a request or response that is a property.
type Bound struct {
	Property string `json:"property"`
	Spot
	Shape    *BoundShape     `json:"shape"`
	Required bool            `json:"required,omitempty"`
	Live     bool            `json:"live,omitempty"`   // of an update or delete: the value is the one that was read
	Secret   bool            `json:"secret,omitempty"` // messages of the service that repeat it are not passed on as they are
	Reset    json.RawMessage `json:"reset,omitempty"`  // what an update sends for a property that was removed
}

// A BoundShape is how a value is written on the wire.
type BoundShape struct {
	Kind   string      `json:"kind"`             // string, integer, number, boolean, timestamp, blob, list, map, object or any; a value that is no list is the only item of one
	Text   bool        `json:"text,omitempty"`   // the property is a string, the value a number
	Format string      `json:"format,omitempty"` // of timestamps: date-time, epoch-seconds or http-date; properties always have date-time
	Item   *BoundShape `json:"item,omitempty"`   // of lists and maps
	Name   string      `json:"name,omitempty"`   // of objects: the members in Binding.Shapes

	// In XML and in forms of awsQuery.
	Element string `json:"element,omitempty"` // of each item of a list or entry of a map; "" if it has the name of the list or map
	Key     string `json:"key,omitempty"`     // of maps: the element of the key in an entry
	Value   string `json:"value,omitempty"`   // of maps: the element of the value in an entry
}

// A BoundMember is one member of an object.
type BoundMember struct {
	Property string      `json:"property"`
	Wire     string      `json:"wire"`
	Shape    *BoundShape `json:"shape"`
	Secret   bool        `json:"secret,omitempty"`
}

// A Page says how a list is read page by page.
type Page struct {
	Style string   `json:"style"` // token, number, offset, or last: the identifier of the last item
	Spot           // of the token, number or offset
	Next  []string `json:"next,omitempty"` // of token: where the response has the next one, which may be within a URL
	Size  *Spot    `json:"size,omitempty"`
	Count int      `json:"count,omitempty"` // what is sent as the size
	First int      `json:"first,omitempty"` // of number: the first page
}

// Wait says by which property the handlers see that the resource is ready.
type Wait struct {
	Property string   `json:"property"`
	Pending  []string `json:"pending,omitempty"`
	Success  []string `json:"success,omitempty"`
	Failure  []string `json:"failure,omitempty"`
	Deleting []string `json:"deleting,omitempty"`
	Gone     []string `json:"gone,omitempty"` // counts as not found
	Delay    int      `json:"delay"`          // seconds between reads
}

// Find says how create knows after a lost answer whether it was its own call that made a resource.
type Find struct {
	By         string   `json:"by"`                   // token, identifier, list or none
	Properties []string `json:"properties,omitempty"` // of list: those that are unique
	Reason     string   `json:"reason"`
}

// BoundTags are operations that change the tags of a resource.
type BoundTags struct {
	Property string   `json:"property"`
	Form     TagForm  `json:"form"`           // of the property
	List     *TagCall `json:"list,omitempty"` // nil if read returns the tags
	Tag      *TagCall `json:"tag"`
	Untag    *TagCall `json:"untag"`
}

// A TagCall is one of them. Its Call sends the ARN of the resource; tags or their keys are at At.
type TagCall struct {
	Call Call     `json:"call"`
	At   []string `json:"at"` // in the body of the request, of list in that of the response; of untag in query: the parameter; in XML with the element of each
	In   string   `json:"in"` // body or query
	Form TagForm  `json:"form"`
}

// A TagForm is a map, or a list of objects with these members.
type TagForm struct {
	Kind  string `json:"kind"` // map, list; of untag: keys
	Key   string `json:"key,omitempty"`
	Value string `json:"value,omitempty"`
}

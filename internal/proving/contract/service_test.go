package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

// A service is a handler that keeps the whole contract, unless it is a mutant.
type service struct {
	kind
	t       *testing.T
	schema  *schema.Schema
	mutant  string
	clock   time.Time
	reports map[string]map[string]any
	order   []string          // keys in the order of creation
	tokens  map[string]string // client request token → key
	gone    map[string]map[string]any
	goneAt  map[string]int // number of the call
	made    int
	number  int // of calls
	reads   map[string]int
	updates map[string]int
}

func newService(t *testing.T, k kind, mutant string) *service {
	return &service{
		kind: k, t: t, schema: k.schema(t), mutant: mutant, clock: time.Unix(1_700_000_000, 0), reports: map[string]map[string]any{}, tokens: map[string]string{},
		gone: map[string]map[string]any{}, goneAt: map[string]int{}, reads: map[string]int{}, updates: map[string]int{},
	}
}

// is reports whether the service is a mutant.
func (s *service) is(mutant string) bool { return s.mutant == mutant }

// A call is what a handler gets.
type serviceCall struct {
	Action          string         `json:"action"`
	BearerToken     string         `json:"bearerToken"`
	NextToken       string         `json:"nextToken"`
	MaxResults      int            `json:"maxResults"`
	CallbackContext map[string]any `json:"callbackContext"`
	RequestData     struct {
		ResourceProperties map[string]any    `json:"resourceProperties"`
		StackTags          map[string]string `json:"stackTags"`
		SystemTags         map[string]string `json:"systemTags"`
	} `json:"requestData"`
}

func (s *service) Call(_ context.Context, payload []byte) ([]byte, error) {
	s.number++
	var c serviceCall
	decoder := json.NewDecoder(strings.NewReader(string(payload)))
	decoder.UseNumber()
	if err := decoder.Decode(&c); err != nil {
		return nil, err
	}
	if s.is("slow " + c.Action) {
		s.clock = s.clock.Add(61 * time.Second)
	}
	model, _ := s.schema.Recast(c.RequestData.ResourceProperties).(map[string]any)
	event, err := s.handle(&c, model)
	var refused *refusal
	if errors.As(err, &refused) {
		event = map[string]any{"status": "FAILED", "errorCode": refused.code, "message": refused.message}
		if s.is("no message of " + c.Action) {
			delete(event, "message")
		}
		if s.is("secret in message") {
			event["message"] = fmt.Sprintf("refused %v", model["Password"])
		}
		if s.is("failed model without identifier") && c.Action == "UPDATE" {
			event["resourceModel"] = map[string]any{"Title": "lost"}
		}
		if s.is("failed model with secret") {
			event["resourceModel"] = model
		}
	}
	s.spoil(c.Action, event)
	return s.encode(event)
}

// spoil breaks the shape of returned models.
func (s *service) spoil(action string, event map[string]any) {
	model, ok := event["resourceModel"].(map[string]any)
	if !ok || event["status"] == "FAILED" {
		return
	}
	for mutant, change := range map[string]func(){
		"bad enum": func() { model["State"] = "ODD" }, "bad type": func() { model["History"] = map[string]any{} }, "bad number": func() { model["Size"] = -1 },
		"bad string": func() { model["Link"] = "http:" + fmt.Sprint(model["Link"]) }, "bad array": func() { model["History"] = []any{"a", "b", "c"} },
		"bad object": func() { model["Extra"] = "x" }, "number for a text": func() { model["Filed"] = 20261126 }, "boolean in a map": func() { model["Stamps"] = map[string]any{"abc": true} },
		"no size": func() { delete(model, "Size") }, "null in " + action: func() { model["Layout"] = map[string]any{"Margin": nil} },
	} {
		if s.is(mutant) {
			change()
		}
	}
}

func (s *service) encode(event map[string]any) ([]byte, error) {
	if s.nulls {
		for _, name := range []string{"message", "callbackContext", "resourceModels", "nextToken"} {
			if _, set := event[name]; !set {
				event[name] = nil
			}
		}
	}
	if s.stringified {
		for _, name := range []string{"resourceModel", "resourceModels"} {
			if event[name] != nil {
				event[name] = stringified(event[name])
			}
		}
	}
	return json.Marshal(event)
}

func (s *service) handle(c *serviceCall, model map[string]any) (map[string]any, error) {
	round := 0
	if n, ok := c.CallbackContext["round"].(json.Number); ok {
		round, _ = strconv.Atoi(n.String())
	}
	switch c.Action {
	case "CREATE":
		return s.create(c, model, round)
	case "READ":
		return s.read(model)
	case "UPDATE":
		return s.update(c, model, round)
	case "DELETE":
		return s.delete(c, model, round)
	}
	return s.list(c, model)
}

var errNoReport = &refusal{"NotFound", "there is no such report"}

// id reads the identifier that the service makes; put writes it.
func (s *service) id(model map[string]any) any {
	if s.nested {
		filing, _ := model["Filing"].(map[string]any)
		return filing["Id"]
	}
	return model["Id"]
}

func (s *service) put(model map[string]any, id string) {
	if s.nested {
		model["Filing"] = map[string]any{"Id": id}
		return
	}
	model["Id"] = id
}

func (s *service) key(model map[string]any) string {
	var parts []string
	for _, name := range s.identifier {
		value := model[name]
		if name == "Id" {
			value = s.id(model)
		}
		if value == nil {
			return ""
		}
		parts = append(parts, fmt.Sprint(value))
	}
	return strings.Join(parts, "|")
}

// find looks a report up by any of its identifiers.
func (s *service) find(action string, model map[string]any) string {
	if key := s.key(model); key != "" {
		if s.reports[key] != nil {
			return key
		}
		return ""
	}
	if alias := model["Alias"]; alias != nil && s.alias {
		for key, report := range s.reports {
			if report["Alias"] == alias {
				return key
			}
		}
	}
	if link := model["Link"]; link != nil && !s.is("no additional "+action) {
		for key, report := range s.reports {
			if report["Link"] == link {
				return key
			}
		}
	}
	return ""
}

func (s *service) create(c *serviceCall, model map[string]any, round int) (map[string]any, error) {
	if s.is("looks first") {
		if round == 0 {
			return map[string]any{"status": "IN_PROGRESS", "callbackContext": map[string]any{"round": 1}, "resourceModel": model}, nil
		}
		round--
	}
	if round == 0 && s.reports[s.tokens[c.BearerToken]] == nil || s.is("token ignored") && round == 0 {
		model = maps.Clone(model)
		for _, name := range []string{"Link", "State", "Size", "History", "Filed", "Stamps"} {
			delete(model, name)
		}
		if err := s.taken(model); err != nil {
			return nil, err
		}
		if s.key(model) != "" && s.reports[s.key(model)] != nil {
			return nil, &refusal{"AlreadyExists", "the report exists"}
		}
		invalid := len(s.schema.Check(model, schema.CheckConfig{})) > 0
		if invalid && !s.is("no validation") && !s.is("refuses and creates") {
			return nil, &refusal{"InvalidRequest", "the report breaks the schema"}
		}
		if s.is("title stays taken") {
			for _, old := range s.gone {
				if old["Title"] == model["Title"] {
					return nil, &refusal{"AlreadyExists", "the title was used before"}
				}
			}
		}
		key := s.store(model, c.RequestData.SystemTags)
		if s.is("tags dropped beside stack tags") && c.RequestData.StackTags != nil {
			delete(s.reports[key], "Labels")
		}
		s.tokens[c.BearerToken] = key
		if s.is("create doubles") {
			s.store(model, nil)
		}
		if invalid && s.is("refuses and creates") {
			return nil, &refusal{"InvalidRequest", "the report breaks the schema"}
		}
	} else if s.is("token makes a hidden one") && round == 0 {
		s.store(model, nil)
	} else if s.is("token exists") && round == 0 {
		return nil, &refusal{"AlreadyExists", "the report exists"}
	}
	key := s.tokens[c.BearerToken]
	return s.finish("CREATE", key, s.reports[key], round)
}

// taken refuses what another report has.
func (s *service) taken(model map[string]any) error {
	for _, report := range s.reports {
		switch {
		case s.single:
			return &refusal{"ServiceLimitExceeded", "there is a report"}
		case s.unique && report["Name"] == model["Name"]:
			return &refusal{"AlreadyExists", "the name is taken"}
		case s.alias && report["Alias"] == model["Alias"] && model["Alias"] != nil && !s.is("alias shared"):
			return &refusal{"AlreadyExists", "the alias is taken"}
		}
	}
	return nil
}

// store files a new report.
func (s *service) store(model map[string]any, systemTags map[string]string) string {
	model = maps.Clone(model)
	s.made++
	s.put(model, fmt.Sprintf("id-%d", s.made))
	s.preset(model)
	if s.is("system tags applied") {
		labels, _ := model["Labels"].([]any)
		for key, value := range systemTags {
			labels = append(slices.Clone(labels), map[string]any{"Key": key, "Value": value})
		}
		model["Labels"] = labels
	}
	key := s.key(model)
	s.reports[key] = model
	s.order = append(s.order, key)
	return key
}

// preset fills in what the user does not say.
func (s *service) preset(model map[string]any) {
	model["State"], model["Size"], model["Link"], model["History"] = "FILED", json.Number("3"), fmt.Sprintf("tps:%v", s.id(model)), []any{"filed"}
	model["Filed"], model["Stamps"] = "20261126", map[string]any{"abc": "7"}
	if s.plain {
		return
	}
	if model["Copies"] == nil {
		model["Copies"] = json.Number("2")
	}
	if layout, ok := model["Layout"].(map[string]any); ok && layout["Paper"] == nil {
		layout = maps.Clone(layout)
		layout["Paper"] = "A4"
		model["Layout"] = layout
	}
}

// finish answers IN_PROGRESS as often as the kind says, and then SUCCESS.
func (s *service) finish(action, key string, model map[string]any, round int) (map[string]any, error) {
	callbacks := s.callbacks
	if strings.HasPrefix(s.mutant, "progress") || s.is("never ends") {
		callbacks = max(callbacks, 1)
	}
	if round < callbacks || s.is("never ends") && action == "CREATE" {
		shown := s.shown(model)
		switch {
		case s.is("progress of another") && action == "CREATE" && round > 0, s.is("progress of another " + action):
			s.put(shown, "id-99999")
		case s.is("progress lies"):
			shown["Title"] = "other"
		}
		return map[string]any{
			"status": "IN_PROGRESS", "callbackDelaySeconds": 30, "callbackContext": map[string]any{"round": round + 1, "key": key}, "resourceModel": shown,
		}, nil
	}
	event := map[string]any{"status": "SUCCESS"}
	if action != "DELETE" || s.is("delete returns model") {
		shown := s.shown(model)
		if s.is(action + " returns the secret") {
			shown["Password"] = model["Password"]
		}
		if s.is(action + " lacks read-only") {
			delete(shown, "Size")
		}
		if s.is(action + " lacks defaults") {
			delete(shown, "Copies")
		}
		event["resourceModel"] = shown
	}
	return event, nil
}

func (s *service) shown(model map[string]any) map[string]any {
	model = maps.Clone(model)
	for _, name := range []string{"Password", "Owner", "Sender"} {
		delete(model, name)
	}
	if readers, ok := model["Readers"].([]any); ok {
		model["Readers"] = schema.Without(map[string]any{"Readers": readers}, s.schema.WriteOnly).(map[string]any)["Readers"]
	}
	if attributes, ok := model["Attributes"].([]any); ok {
		model["Attributes"] = slices.Concat([]any{map[string]any{"Key": "fold", "Value": "no"}}, attributes)
		slices.Reverse(model["Attributes"].([]any))
	}
	if labels, ok := model["Labels"].([]any); ok && s.shuffled {
		labels = slices.Clone(labels)
		slices.Reverse(labels)
		model["Labels"] = labels
	}
	if title, ok := model["Title"].(string); ok && s.transformed {
		model["Title"] = strings.ToUpper(title)
		if s.is("transforms otherwise") {
			model["Title"] = "The" + title
		}
	}
	return model
}

func (s *service) read(model map[string]any) (map[string]any, error) {
	if s.is("read needs the title") && model["Title"] == nil {
		return nil, &refusal{"InvalidRequest", "the title is missing"}
	}
	key := s.find("READ", model)
	wanted := s.key(model)
	s.reads[wanted]++
	if key == "" {
		old, was := s.gone[wanted]
		since := s.reads[wanted] - s.goneAt[wanted]
		if was && (s.is("delete lingers") && since == 1 || s.is("delete comes back") && since == 3 || s.is("delete keeps") && since > 3) {
			return map[string]any{"status": "SUCCESS", "resourceModel": s.shown(old)}, nil
		}
		if s.is("read invents") && !was {
			model = maps.Clone(model)
			s.preset(model)
			return map[string]any{"status": "SUCCESS", "resourceModel": s.shown(model)}, nil
		}
		return nil, errNoReport
	}
	shown := s.shown(s.reports[key])
	switch {
	case s.is("read is late") && s.reads[wanted] == 2:
		return nil, errNoReport
	case s.is("read is stale") && s.reads[wanted] == 2:
		shown["Title"] = "stale"
	case s.is("update is stale") && s.updates[key] > 0 && s.reads[wanted]%3 == 2:
		shown["Title"] = "stale"
	case s.is("create drifts"), s.is("update drifts") && s.updates[key] > 0:
		shown["Title"] = "Drifted"
	case s.is("READ lacks read-only"):
		delete(shown, "Size")
	case s.is("READ lacks defaults") && fmt.Sprint(shown["Copies"]) == "2":
		delete(shown, "Copies")
	}
	return map[string]any{"status": "SUCCESS", "resourceModel": shown}, nil
}

func (s *service) update(c *serviceCall, model map[string]any, round int) (map[string]any, error) {
	if key, ok := c.CallbackContext["key"].(string); ok && round > 0 {
		return s.finish("UPDATE", key, s.reports[key], round)
	}
	if s.is("update demands an id") && model["Id"] == nil && model["Link"] == nil {
		return nil, &refusal{"InvalidRequest", "Id is required"}
	}
	key := s.find("UPDATE", model)
	old := s.reports[key]
	if old == nil {
		return nil, errNoReport
	}
	if s.is("busy after create") && s.updates[key] == 0 && s.reads[key] == 0 {
		return nil, &refusal{"ResourceConflict", "the report is being filed"}
	}
	frozen := []string{"Name", "Series"}
	if s.plain {
		frozen = frozen[:1]
	}
	for _, name := range frozen {
		if value := model[name]; value != nil && value != old[name] && !s.is("create-only changes") {
			if s.is("create-only invalid") {
				return nil, &refusal{"InvalidRequest", name + " is create-only"}
			}
			return nil, &refusal{"NotUpdatable", name + " is create-only"}
		}
	}
	if s.readers && !reflect.DeepEqual(model["Readers"], old["Readers"]) {
		return nil, &refusal{"NotUpdatable", "Readers is create-only"}
	}
	if s.fixedTags && !reflect.DeepEqual(model["Labels"], old["Labels"]) {
		return nil, &refusal{"NotUpdatable", "Labels cannot be changed"}
	}
	if layout, _ := model["Layout"].(map[string]any); s.conditional && (!reflect.DeepEqual(model["Pages"], old["Pages"]) || old["Layout"] != nil && !reflect.DeepEqual(layout["Margin"], old["Layout"].(map[string]any)["Margin"])) {
		return nil, &refusal{"NotUpdatable", "Pages and Margin cannot be changed now"}
	}
	model = maps.Clone(model)
	for _, name := range frozen {
		if model[name] == nil && old[name] != nil {
			model[name] = old[name]
		}
	}
	s.put(model, fmt.Sprint(s.id(old)))
	s.preset(model)
	s.merge(model, old, c)
	s.updates[key]++
	s.reports[key] = model
	if s.is("update clones") && s.updates[key] == 1 {
		s.store(model, nil)
	}
	return s.finish("UPDATE", key, model, round)
}

// merge is what mutants make of collections.
func (s *service) merge(model, old map[string]any, c *serviceCall) {
	switch {
	case s.is("update merges arrays"):
		if authors, ok := model["Authors"].([]any); ok && len(authors) == 1 {
			model["Authors"] = old["Authors"]
		}
	case s.is("update merges maps"):
		notes, _ := model["Notes"].(map[string]any)
		merged := map[string]any{}
		before, _ := old["Notes"].(map[string]any)
		maps.Copy(merged, before)
		maps.Copy(merged, notes)
		model["Notes"] = merged
	case s.is("update keeps the pages"):
		if model["Pages"] == nil && old["Pages"] != nil {
			model["Pages"] = old["Pages"]
		}
	case s.is("update keeps tags") && c.RequestData.StackTags != nil:
		model["Labels"] = slices.Concat(model["Labels"].([]any), old["Labels"].([]any)[:1])
	}
}

func (s *service) delete(c *serviceCall, model map[string]any, round int) (map[string]any, error) {
	if key, ok := c.CallbackContext["key"].(string); ok && round > 0 {
		return s.finish("DELETE", key, model, round)
	}
	if s.is("delete needs the title") && model["Title"] == nil {
		return nil, &refusal{"InvalidRequest", "the title is missing"}
	}
	key := s.find("DELETE", model)
	old := s.reports[key]
	if old == nil {
		if _, was := s.gone[s.key(model)]; s.is("delete of nothing") && !was {
			return map[string]any{"status": "SUCCESS"}, nil
		}
		return nil, errNoReport
	}
	delete(s.reports, key)
	s.gone[key], s.goneAt[key] = old, s.reads[key]
	s.order = slices.DeleteFunc(s.order, func(k string) bool { return k == key })
	return s.finish("DELETE", key, old, round)
}

func (s *service) list(c *serviceCall, filter map[string]any) (map[string]any, error) {
	all := []any{}
	for _, key := range s.order {
		report := s.reports[key]
		if s.filters && !s.agrees(report, filter) {
			continue
		}
		item := map[string]any{}
		for _, name := range s.identifier {
			if name == "Id" {
				s.put(item, fmt.Sprint(s.id(report)))
			} else {
				item[name] = report[name]
			}
		}
		if s.is("list shows secrets") {
			item["Password"] = report["Password"]
		}
		all = append(all, item)
	}
	if s.is("list invents") {
		ghost := map[string]any{"Name": "ghost-report"}
		s.put(ghost, "id-77777")
		all = append(all, ghost)
	}
	if s.is("list without identifiers") && len(all) > 0 {
		all = append(all, map[string]any{"Title": "lost"})
	}
	size := s.page
	if c.MaxResults > 0 && !s.ownPages {
		size = c.MaxResults
	}
	if size == 0 {
		size = len(all)
	}
	first, _ := strconv.Atoi(c.NextToken)
	last := min(first+size, len(all))
	page := all[min(first, len(all)):last]
	switch {
	case s.is("pages overlap") && first > 0:
		page = all[first-1 : last]
	case s.is("pages lose") && first > 0:
		page = []any{}
	}
	event := map[string]any{"status": "SUCCESS", "resourceModels": page}
	if last < len(all) && !s.is("no token") {
		event["nextToken"] = strconv.Itoa(last)
	}
	return event, nil
}

// agrees filters by the scalars of a request.
func (s *service) agrees(report, filter map[string]any) bool {
	shown := s.shown(report)
	some, all := false, true
	for _, name := range []string{"Title", "Pages", "Draft"} {
		if want, asked := filter[name]; asked {
			same := fmt.Sprint(want) == fmt.Sprint(shown[name])
			some, all = some || same, all && same
		}
	}
	if s.is("filter by any") {
		return some || all
	}
	return all
}

// tryAll runs the whole suite against a service, with a clock of its own.
func tryAll(t *testing.T, s *service, cfg Config) *Summary {
	t.Helper()
	cfg.Function, cfg.Schema = s, s.schema
	if cfg.Selection.Suite == "" {
		cfg.Selection.Suite = SuiteAll
	}
	cfg.Now = func() time.Time { return s.clock }
	cfg.Sleep = func(_ context.Context, d time.Duration) error {
		s.clock = s.clock.Add(d)
		return nil
	}
	summary, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return summary
}

func failures(s *Summary) string {
	var b strings.Builder
	for _, r := range s.Results {
		if r.Outcome == Failed || r.Outcome == Errored {
			fmt.Fprintf(&b, "%s %s: %s (%s) %v\n", r.ID(), r.Outcome, r.Message, r.Clause, r.Differences)
			for _, v := range r.More {
				fmt.Fprintf(&b, "   also: %s (%s)\n", v.Message, v.Clause)
			}
		}
	}
	return b.String()
}

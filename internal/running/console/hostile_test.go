package console

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/foundation/store"
)

// poison is what somebody appends to every text that the console reads.
const poison = `"'><script>alert(1)</script><img src=x onerror=alert(1)>` + "\u202e\x1b[2J` javascript:alert(1)" // the store refuses U+0000

// poisoned are the columns whose texts pages show, but for names that the registry finds types by: TestHostileText has those.
var poisoned = map[string][]string{
	"hook_results":           {"reason", "target_name", "logical_id", "stack_id", "change_set_id"},
	"resource_requests":      {"type_name", "identifier", "error_code", "message"},
	"stack_sets":             {"description"},
	"stack_set_instances":    {"reason", "stack_arn"},
	"stack_set_results":      {"reason"},
	"invocations":            {"error", "request", "identifier", "stack_id", "logical_id"},
	"logs_events":            {"message"},
	"type_versions":          {"description", "source_url", "documentation_url", "execution_role", "test_status_description", "public_version"},
	"publications":           {"description", "source_url", "documentation_url"},
	"registrations":          {"token", "stage", "description"},
	"test_runs":              {"description"},
	"stacks":                 {"name", "arn", "reason", "parent_id"},
	"stack_deployments":      {"description"},
	"stack_resources":        {"logical_id", "type", "type_version", "physical_id", "reason"},
	"stack_events":           {"logical_id", "type", "physical_id", "reason"},
	"change_sets":            {"name", "arn", "reason", "description", "parent_id"},
	"stack_drift_detections": {"reason"},
	"stack_resource_drifts":  {"logical_id", "type", "physical_id", "reason"},
	"stack_refactors":        {"description", "reason"},
	"stack_refactor_stacks":  {"name", "arn"},
}

// poison appends the poison to the texts of the rows that the engines have, also to the names by which they find them.
func (e *engines) poison() {
	e.t.Helper()
	for table, columns := range poisoned {
		for _, column := range columns {
			e.exec("UPDATE "+table+" SET "+column+" = "+column+" || ? WHERE "+column+" <> ''", poison)
		}
	}
	quoted := strings.NewReplacer(`"`, `\"`, "\x1b", `\u001b`).Replace(poison)
	for table, texts := range map[string][]string{ // in JSON and YAML
		"invocations SET reply":                 {"the cluster billing"},
		"stacks SET outputs":                    {"QueueUrl", "Where orders go.", "shop-queue"},
		"stack_deployments SET tags":            {"team", "payments"},
		"stack_deployments SET original":        {"The shop.", "The orders."},
		"stack_deployments SET processed":       {"The shop.", "The orders."},
		"change_sets SET plan":                  {"old-name", "orders", "Billing", "billing-1", "Disk", "AWS::SQS::Queue"},
		"stack_resource_drifts SET differences": {"/Size/Disk", "40"},
		"stack_refactors SET moves":             {"Line", "queue-1", "AWS::SQS::Queue"},
		"type_versions SET schema":              {"TaskDefinition", "PitWasEnabled"},
		"publications SET schema":               {`"Name`},
		"stack_steps SET plan":                  {"WorkerL"},
	} {
		_, column, _ := strings.Cut(table, " SET ")
		for _, text := range texts {
			e.exec("UPDATE "+table+" = REPLACE("+column+", ?, ?)", text, text+quoted)
		}
	}
	e.exec("UPDATE type_versions SET schema = REPLACE(REPLACE(schema, '\"description\": \"', '\"description\":\"'), '\"description\":\"', '\"description\":\"' || ?)", quoted)
	e.insert("test_runs", row{
		"id": "poisoned", "account": home.Account, "region": home.Region, "kind": "RESOURCE", "type_name": "Other" + poison, "version": 1, "status": types.TypeTestsStatusPassed,
		"started_at": store.At(then), "ended_at": store.At(then), "row_version": 1,
	})
}

// namesOfStacks are those of stacks and change sets in the addresses of pages.
var namesOfStacks = regexp.MustCompile(`/stacks/[^/?]+|/changes/[^/?]+|stack=shop`)

// withoutTexts are pages that show no text of anybody: they have no rows, or are the same for all.
var withoutTexts = []string{
	clusterPath + "/compare", clusterPath + "/calls?stack=x&resource=y", "/tests?kind=RESOURCE&type=MongoDB::Atlas::Cluster",
	"/contract", "/deploy", "/?in=123456789012/us-east-1", "/types?in=123456789012/us-east-1", "/logs", "/logs?group=/aws/lambda/other", "/stacks?deleted=1", "/stacks?q=none", "/requests?in=123456789012/us-east-1", "/stack-sets?deleted=1",
}

// TestPoisonedPages visits every page when all texts that the console reads have poison: it shows it as text.
// TestEveryRouteHasARow has all pages in the list.
func TestPoisonedPages(t *testing.T) {
	t.Parallel()
	e := world(t)
	e.poison()
	c := newConsole(t, e)
	for _, path := range allPages {
		without := slices.Contains(withoutTexts, path)
		path = namesOfStacks.ReplaceAllString(path, "${0}"+strings.ReplaceAll(url.PathEscape(poison), "$", "$$"))
		w := get(t, c, path)
		page := w.Body.String()
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d", path, w.Code)
		}
		for _, bad := range []string{"<script>", "<img", "\u202e", "\x00", "\x1b", `href="javascript`, "about:invalid"} {
			if i := strings.Index(page, bad); i >= 0 {
				t.Errorf("%s: %q is in the page: …%s…", path, bad, page[max(0, i-80):min(len(page), i+80)])
			}
		}
		if found := inside.FindString(strings.ReplaceAll(page, "javascript:", "")); found != "" {
			t.Errorf("%s: %q", path, found)
		}
		if !strings.Contains(strings.ReplaceAll(html.UnescapeString(page), "<wbr>", ""), "<script>alert(1)</script>") && !without {
			t.Errorf("%s does not show the poison", path)
		}
	}
}

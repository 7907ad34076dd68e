package lint

import (
	"fmt"
	"strconv"

	"github.com/formwork-dev/formwork/internal/foundation/diag"
	"github.com/formwork-dev/formwork/internal/foundation/document"
	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

const permissionsWhy = "The execution role of the handler is made from its permissions: without them its calls are refused, with wildcards it may do more than it needs."

// permissionRules judge the handlers and what they may do.
var permissionRules = []Rule{{
	ID: "lint/PER001", Severity: diag.Warning,
	Upstream: "guard-rail: PER001",
	Purpose:  "The type has a create handler.",
	Why:      "Without one, CloudFormation cannot create the resource.",
	Bad:      `"handlers": {"create": null}`,
	Good:     `"handlers": {"create": {"permissions": ["tps:CreateReport"]}}`,
	kinds:    resources, check: handlerExists("create", ""),
}, {
	ID: "lint/PER002", Severity: diag.Warning,
	Upstream: "guard-rail: PER002",
	Purpose:  "The create handler has permissions, none of them a wildcard.",
	Why:      permissionsWhy,
	Bad:      `"handlers": {"create": {"permissions": ["tps:*"]}}`,
	Good:     `"handlers": {"create": {"permissions": ["tps:CreateReport"]}}`,
	kinds:    resources, check: permissionsGiven("create", true, true),
}, {
	ID: "lint/PER003", Severity: diag.Warning, Twin: "schema/handler-missing",
	Upstream: "guard-rail: PER003",
	Purpose:  "The type has a read handler.",
	Why:      "Fn::GetAtt, drift detection, import and the contract tests all read the resource.",
	Bad:      `"handlers": {"read": null}`,
	Good:     `"handlers": {"read": {"permissions": ["tps:GetReport"]}}`,
	kinds:    resources, check: handlerExists("read", ""),
}, {
	ID: "lint/PER004", Severity: diag.Warning,
	Upstream: "guard-rail: PER004",
	Purpose:  "The read handler has permissions, none of them a wildcard.",
	Why:      permissionsWhy,
	Bad:      `"handlers": {"read": {"permissions": []}}`,
	Good:     `"handlers": {"read": {"permissions": ["tps:GetReport"]}}`,
	kinds:    resources, check: permissionsGiven("read", true, true),
}, {
	ID: "lint/PER005", Severity: diag.Warning,
	Upstream: "guard-rail: PER005",
	Purpose:  "The type has an update handler.",
	Why:      "Without one every change of a property replaces the resource, with a new identifier.",
	Bad:      `"handlers": {"update": null}`,
	Good:     `"handlers": {"update": {"permissions": ["tps:UpdateReport"]}}`,
	kinds:    resources, check: handlerExists("update", "if the service cannot update, list every property that can be set in createOnlyProperties"),
}, {
	ID: "lint/PER006", Severity: diag.Warning,
	Upstream: "guard-rail: PER006",
	Purpose:  "The update handler has permissions.",
	Why:      permissionsWhy,
	Bad:      `"handlers": {"update": {"permissions": []}}`,
	Good:     `"handlers": {"update": {"permissions": ["tps:UpdateReport"]}}`,
	kinds:    resources, check: permissionsGiven("update", true, false),
}, {
	ID: "lint/PER007", Severity: diag.Warning,
	Upstream: "guard-rail: PER007",
	Purpose:  "No permission of the update handler is a wildcard.",
	Why:      permissionsWhy,
	Bad:      `"handlers": {"update": {"permissions": ["tps:Update*"]}}`,
	Good:     `"handlers": {"update": {"permissions": ["tps:UpdateReport"]}}`,
	kinds:    resources, check: permissionsGiven("update", false, true),
}, {
	ID: "lint/PER008", Severity: diag.Warning, Twin: "schema/handler-missing",
	Upstream: "guard-rail: PER008",
	Purpose:  "The type has a delete handler.",
	Why:      "Without one, stacks cannot be deleted and failed creations cannot be rolled back.",
	Bad:      `"handlers": {"delete": null}`,
	Good:     `"handlers": {"delete": {"permissions": ["tps:DeleteReport"]}}`,
	kinds:    resources, check: handlerExists("delete", ""),
}, {
	ID: "lint/PER009", Severity: diag.Warning,
	Upstream: "guard-rail: PER009",
	Purpose:  "The delete handler has permissions, none of them a wildcard.",
	Why:      permissionsWhy,
	Bad:      `"handlers": {"delete": {"permissions": []}}`,
	Good:     `"handlers": {"delete": {"permissions": ["tps:DeleteReport"]}}`,
	kinds:    resources, check: permissionsGiven("delete", true, true),
}, {
	ID: "lint/PER010", Severity: diag.Warning,
	Upstream: "guard-rail: PER010",
	Purpose:  "The type has a list handler.",
	Why:      "Without one existing resources cannot be discovered: neither by Cloud Control nor by the generator of templates.",
	Bad:      `"handlers": {"list": null}`,
	Good:     `"handlers": {"list": {"permissions": ["tps:ListReports"]}}`,
	kinds:    resources, check: handlerExists("list", ""),
}, {
	ID: "lint/PER011", Severity: diag.Warning,
	Upstream: "guard-rail: PER011",
	Purpose:  "The list handler has permissions, none of them a wildcard.",
	Why:      permissionsWhy,
	Bad:      `"handlers": {"list": {"permissions": ["tps:*"]}}`,
	Good:     `"handlers": {"list": {"permissions": ["tps:ListReports"]}}`,
	kinds:    resources, check: permissionsGiven("list", true, true),
}, {
	ID: "lint/permission-form", Severity: diag.Warning, Fault: true,
	Purpose: "A permission is a service prefix and an action with a colon between them.",
	Why:     "IAM rejects a policy with anything else, so the execution role cannot be created.",
	Bad:     `"handlers": {"create": {"permissions": ["tps/CreateReport"]}}`,
	Good:    `"handlers": {"create": {"permissions": ["tps:CreateReport"]}}`,
	check:   permissionsWellFormed,
}, {
	ID: "lint/permission-repeated", Severity: diag.Warning, Fault: true,
	Purpose: "A handler lists each permission once.",
	Why:     "The second entry has no effect; often another one was intended.",
	Bad:     `"handlers": {"create": {"permissions": ["tps:CreateReport", "tps:CreateReport"]}}`,
	Good:    `"handlers": {"create": {"permissions": ["tps:CreateReport", "tps:GetReport"]}}`,
	check:   permissionsOnce,
}, {
	ID: "lint/handler-timeout", Severity: diag.Warning, Fault: true,
	Purpose: "timeoutInMinutes is set on create, update and delete only.",
	Why:     "Read and list must return within 30 seconds, independent of the schema.",
	Bad:     `"handlers": {"read": {"permissions": ["tps:GetReport"], "timeoutInMinutes": 60}}`,
	Good:    `"handlers": {"create": {"permissions": ["tps:CreateReport"], "timeoutInMinutes": 60}}`,
	kinds:   resources, check: timeoutsUseful,
}}

func handlerExists(action, hint string) func(*inspection) {
	return func(in *inspection) {
		if in.Handler(action) != nil {
			return
		}
		if hint == "" {
			hint = fmt.Sprintf(`add "%s": {"permissions": […]} to "handlers" and write the handler`, action)
		}
		var pointer document.Pointer
		if in.Root.Get("handlers") != nil {
			pointer = document.Pointer{"handlers"}
		}
		in.report(in.keyAt("handlers"), pointer, fmt.Sprintf("the type has no %s handler", action), hint)
	}
}

// wildcard is what guard-rail considers a wildcard: a whole service, or a prefix of letters
// and digits. It accepts a bare "*" and "s3:*Tagging"; schema/wildcard-permission reports
// them.
var wildcard = lazyregexp.New(`^[a-z0-9-]{0,20}:[a-zA-Z0-9]*\*$`)

// permissionsGiven checks the permissions of an existing handler: another rule reports missing
// handlers.
func permissionsGiven(action string, some, specific bool) func(*inspection) {
	return func(in *inspection) {
		h := in.Handler(action)
		if h == nil {
			return
		}
		pointer := document.Pointer{"handlers", action, "permissions"}
		permissions := in.Root.Get("handlers").Get(action).Get("permissions")
		if some && len(itemsOf(permissions)) == 0 {
			at := h.At
			if permissions != nil {
				at = permissions.At
			}
			in.report(at, pointer, fmt.Sprintf("the %s handler has no permissions", action), "list the API operations that it calls, such as s3:CreateBucket")
		}
		for i, item := range itemsOf(permissions) {
			if specific && wildcard.MatchString(item.Str()) {
				in.report(item.At, pointer.Append(strconv.Itoa(i)), fmt.Sprintf("the permission %s of the %s handler is a wildcard", quote(item.Text), action), "list the operations that the handler calls")
			}
		}
	}
}

// eachPermission calls f for the permissions of all handlers.
func (in *inspection) eachPermission(f func(action string, item *document.Value, pointer document.Pointer)) {
	for _, h := range membersOf(in.Root.Get("handlers")) {
		for i, item := range itemsOf(h.Value.Get("permissions")) {
			if item.Kind == document.String {
				f(h.Key, item, document.Pointer{"handlers", h.Key, "permissions", strconv.Itoa(i)})
			}
		}
	}
}

var permissionForm = lazyregexp.New(`^(\*|[a-zA-Z0-9*-]+:[a-zA-Z0-9*?.]+)$`)

func permissionsWellFormed(in *inspection) {
	in.eachPermission(func(_ string, item *document.Value, pointer document.Pointer) {
		if !permissionForm.MatchString(item.Text) {
			in.report(item.At, pointer, quote(item.Text)+" is not a permission of IAM", "it reads like s3:CreateBucket")
		}
	})
}

func permissionsOnce(in *inspection) {
	type mention struct{ action, text string }
	first := map[mention]*document.Value{}
	in.eachPermission(func(action string, item *document.Value, pointer document.Pointer) {
		key := mention{action, item.Text}
		if before := first[key]; before != nil {
			in.report(item.At, pointer, fmt.Sprintf("the %s handler already has the permission %s", action, quote(item.Text)), "remove one of them", note(before.At, "the first mention"))
			return
		}
		first[key] = item
	})
}

func timeoutsUseful(in *inspection) {
	for _, action := range []string{"read", "list"} {
		if m := in.Root.Get("handlers").Get(action).Member("timeoutInMinutes"); m != nil {
			in.report(m.KeyAt, document.Pointer{"handlers", action, "timeoutInMinutes"}, fmt.Sprintf("timeoutInMinutes has no effect on the %s handler, which has 30 seconds", action), "remove it")
		}
	}
}

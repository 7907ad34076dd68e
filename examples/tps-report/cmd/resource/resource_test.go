package resource

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/formwork-dev/formwork/sdk/handler"
	"github.com/formwork-dev/formwork/sdk/handlertest"
)

const secret = "PCLoadLetter1999"

// start makes a tester over an empty archive.
func start(t *testing.T) (tester *handlertest.Tester[Model, TypeConfiguration], dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "reports")
	t.Setenv("REPORTS_DIR", dir)
	return handlertest.New(t, handler.Resource[Model, TypeConfiguration]{
		TypeName: TypeName, Schema: Schema, Create: Create, Read: Read, Update: Update, Delete: Delete, List: List,
	}), dir
}

func input(t *testing.T, name string) Model {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "inputs", name))
	if err != nil {
		t.Fatal(err)
	}
	var model Model
	if err := json.Unmarshal(text, &model); err != nil {
		t.Fatal(err)
	}
	return model
}

// visible is what a handler returns of a report: no write-only value.
func visible(report Model) Model {
	report.ReviewCode = nil
	return report
}

func TestLifeOfAReport(t *testing.T) {
	for _, set := range []string{"inputs_1", "inputs_2"} {
		for _, stringified := range []bool{false, true} {
			t.Run(fmt.Sprint(set, " stringified ", stringified), func(t *testing.T) {
				tester, _ := start(t)
				tester.Stringified = stringified
				want := input(t, set+"_create.json")

				created := tester.Create(want)
				report := created.WantSuccess()
				if created.Calls != 1+checksUntilSettled || created.Waited != 0 {
					t.Errorf("%d calls, %v waited", created.Calls, created.Waited)
				}
				want.Id, want.FileName = report.Id, handler.Ptr(*report.Id+".json")
				if want.Priority == nil {
					want.Priority = handler.Ptr[int64](3)
				}
				created.WantModel(visible(want))
				tester.Read(Model{Id: report.Id}).WantModel(visible(want))
				wantListed(t, tester, *report.Id)

				change := input(t, set+"_update.json")
				change.Id, change.FileName = report.Id, report.FileName
				updated := tester.Update(report, change)
				updated.WantModel(visible(change))
				tester.Read(Model{Id: report.Id}).WantModel(visible(change))
				wantListed(t, tester, *report.Id)

				deleted := tester.Delete(Model{Id: report.Id})
				deleted.WantSuccess()
				if deleted.Model != nil || deleted.Calls != 1+checksUntilSettled {
					t.Errorf("%d calls, model %v", deleted.Calls, deleted.Model)
				}
				wantListed(t, tester)
				tester.Read(Model{Id: report.Id}).WantFailed(handler.CodeNotFound)
				tester.Delete(Model{Id: report.Id}).WantFailed(handler.CodeNotFound)
				if message := tester.Update(report, change).WantFailed(handler.CodeNotFound); !strings.Contains(message, *report.Id) {
					t.Error(message)
				}
			})
		}
	}
}

func wantListed(t *testing.T, tester *handlertest.Tester[Model, TypeConfiguration], want ...string) {
	t.Helper()
	result := tester.List(Model{})
	result.WantSuccess()
	var got []string
	for _, model := range result.Models {
		got = append(got, *model.Id)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
}

func TestEveryEventNamesTheReport(t *testing.T) {
	tester, _ := start(t)
	created := tester.Create(input(t, "inputs_1_create.json"))
	report := created.WantSuccess()
	events := created.Events
	events = append(events, tester.Update(report, withCode(report)).Events...)
	deleted := tester.Delete(report).Events
	events = append(events, deleted[:len(deleted)-1]...)
	for _, event := range events {
		if !strings.Contains(string(event), `"Id":"`+*report.Id+`"`) {
			t.Errorf("%s does not name %s", event, *report.Id)
		}
	}
}

func withCode(report Model) Model {
	report.ReviewCode = handler.Ptr(secret)
	return report
}

func TestListPages(t *testing.T) {
	tester, _ := start(t)
	var ids []string
	for i := range 2*reportsPerPage + 1 {
		report := tester.Create(Model{Title: handler.Ptr(fmt.Sprintf("Report %d", i)), ReviewCode: handler.Ptr(secret)}).WantSuccess()
		ids = append(ids, *report.Id)
	}
	if result := tester.List(Model{}); result.Pages != 3 {
		t.Errorf("%d pages", result.Pages)
	}
	wantListed(t, tester, ids...)

	req := handlertest.NewRequest[Model, TypeConfiguration](t, handler.ActionList, Model{})
	req.MaxResults = 5
	event := List(t.Context(), req)
	if len(event.Models) != 5 || event.NextToken != *event.Models[4].Id {
		t.Errorf("%d models, token %q", len(event.Models), event.NextToken)
	}
	req.NextToken = event.NextToken
	if event = List(t.Context(), req); len(event.Models) != 2 || event.NextToken != "" {
		t.Errorf("%d models, token %q", len(event.Models), event.NextToken)
	}
}

func TestSameTokenSameReport(t *testing.T) {
	tester, _ := start(t)
	tester.Token = "the same"
	first := tester.Create(input(t, "inputs_1_create.json")).WantSuccess()
	second := tester.Create(input(t, "inputs_1_create.json")).WantSuccess()
	if *first.Id != *second.Id {
		t.Errorf("%s and %s", *first.Id, *second.Id)
	}
	wantListed(t, tester, *first.Id)
	tester.Token = "another"
	third := tester.Create(input(t, "inputs_1_create.json")).WantSuccess()
	wantListed(t, tester, *first.Id, *third.Id)
}

func TestReviewCodeIsNeverShownOrKept(t *testing.T) {
	tester, dir := start(t)
	created := tester.Create(input(t, "inputs_1_create.json"))
	report := created.WantSuccess()
	hash := record0(t, *report.Id).ReviewCodeHash
	for _, event := range append(created.Events[len(created.Events)-1:], tester.Read(report).Events...) {
		if strings.Contains(string(event), secret) {
			t.Errorf("shown in %s", event)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, *report.FileName))
	if err != nil || strings.Contains(string(text), secret) {
		t.Errorf("%v: kept in %s", err, text)
	}
	change := report
	change.ReviewCode = handler.Ptr("AnotherCode99")
	tester.Update(report, change).WantSuccess()
	if again := record0(t, *report.Id).ReviewCodeHash; again == hash || len(again) != 64 {
		t.Errorf("hash %s, then %s", hash, again)
	}
}

func record0(t *testing.T, id string) record {
	t.Helper()
	filed, err := openArchive().get(id)
	if err != nil {
		t.Fatal(err)
	}
	return filed
}

func TestShreddingGoesOnForTheSameRequestOnly(t *testing.T) {
	tester, _ := start(t)
	report := tester.Create(input(t, "inputs_1_create.json")).WantSuccess()
	if err := openArchive().shred(*report.Id, "lost"); err != nil {
		t.Fatal(err)
	}
	tester.Token = "another"
	tester.Delete(report).WantFailed(handler.CodeNotFound)
	tester.Token = "lost"
	tester.Delete(report).WantSuccess()
	tester.Delete(report).WantFailed(handler.CodeNotFound)
}

func TestManyAskWhetherAReportIsShredded(t *testing.T) {
	tester, _ := start(t)
	for range 20 {
		report := tester.Create(input(t, "inputs_1_create.json")).WantSuccess()
		archive := openArchive()
		if err := archive.shred(*report.Id, "token"); err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				for {
					if _, err := archive.settled(*report.Id); err != nil {
						if !errors.Is(err, errNoReport) {
							t.Error(err)
						}
						return
					}
				}
			})
		}
		group.Wait()
	}
}

func TestLabelsHoldTheTagsOfTheStack(t *testing.T) {
	tester, _ := start(t)
	tester.StackTags = map[string]string{"department": "overridden", "cost": "1"}
	tester.SystemTags = map[string]string{"aws:cloudformation:stack-name": "shop"}
	report := tester.Create(input(t, "inputs_1_create.json")).WantSuccess()
	want := map[string]string{"department": "software", "memo": "", "cost": "1", "aws:cloudformation:stack-name": "shop"}
	if got := record0(t, *report.Id).Labels; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if len(report.Tags) != 2 {
		t.Errorf("returned %d tags", len(report.Tags))
	}
}

func TestRefusals(t *testing.T) {
	tester, _ := start(t)
	message := tester.Create(input(t, "inputs_1_invalid.json")).WantFailed(handler.CodeInvalidRequest)
	for _, part := range []string{"#/Title", "#/Priority", "#/ReviewCode"} {
		if !strings.Contains(message, part) {
			t.Errorf("%s is not in %s", part, message)
		}
	}
	tester.Create(Model{Title: handler.Ptr("No code")}).WantFailed(handler.CodeInvalidRequest)
	wantListed(t, tester)

	report := tester.Create(input(t, "inputs_1_create.json")).WantSuccess()
	change := withCode(report)
	change.Series = handler.Ptr("OTHER")
	tester.Update(report, change).WantFailed(handler.CodeNotUpdatable)
	change.Series = nil
	if updated := tester.Update(report, change).WantSuccess(); *updated.Series != "QTR" {
		t.Errorf("series %s", *updated.Series)
	}
	tester.Update(Model{}, input(t, "inputs_1_update.json")).WantFailed(handler.CodeNotFound)
	for _, id := range []string{"", "tps-short", "../../etc/passwd", "tps-aaaaaaaaaaaa"} {
		tester.Read(Model{Id: &id}).WantFailed(handler.CodeNotFound)
		tester.Delete(Model{Id: &id}).WantFailed(handler.CodeNotFound)
	}
}

func TestTypeConfiguration(t *testing.T) {
	tester, _ := start(t)
	tester.TypeConfiguration = &TypeConfiguration{RequireCoverSheet: handler.Ptr(true)}
	report := tester.Create(input(t, "inputs_1_create.json")).WantSuccess()
	change := input(t, "inputs_1_update.json")
	change.Id = report.Id
	message := tester.Update(report, change).WantFailed(handler.CodeInvalidRequest)
	if !strings.Contains(message, "memo") {
		t.Error(message)
	}
	tester.Create(input(t, "inputs_2_create.json")).WantFailed(handler.CodeInvalidRequest)
	tester.TypeConfiguration = &TypeConfiguration{}
	tester.Create(input(t, "inputs_2_create.json")).WantSuccess()
}

func TestFaultsOfTheArchive(t *testing.T) {
	tester, dir := start(t)
	report := tester.Create(input(t, "inputs_1_create.json")).WantSuccess()
	if err := os.WriteFile(filepath.Join(dir, *report.FileName), []byte("no report"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "notes.json"), []byte("not a report at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, result := range []handlertest.Result[Model]{tester.Read(report), tester.List(Model{}), tester.Delete(report), tester.Update(report, withCode(report))} {
		if message := result.WantFailed(handler.CodeInternalFailure); !strings.HasPrefix(message, "read report "+*report.Id) {
			t.Error(message)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("REPORTS_DIR", file)
	tester.Create(input(t, "inputs_1_create.json")).WantFailed(handler.CodeInternalFailure)
	tester.List(Model{}).WantFailed(handler.CodeInternalFailure)
}

package contract

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
)

func TestListExports(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.ParseForm()
		if r.Form.Get("Action") != "ListExports" || !strings.Contains(r.Header.Get("Authorization"), "/eu-west-1/cloudformation/") {
			t.Errorf("request %v, %v", r.Form, r.Header)
		}
		name, next := "One", "<NextToken>2</NextToken>"
		if r.Form.Get("NextToken") == "2" {
			name, next = "Two", ""
		}
		fmt.Fprintf(w, `<ListExportsResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><ListExportsResult><Exports><member><Name>%s</Name><Value>%s-value</Value></member></Exports>%s</ListExportsResult></ListExportsResponse>`, name, name, next)
	}))
	defer server.Close()
	client := &ExportsClient{URL: server.URL, Region: "eu-west-1", HTTP: server.Client(), Credentials: credentials}
	got, err := client.List(t.Context())
	if want := map[string]string{"One": "One-value", "Two": "Two-value"}; err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

var credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "A", SecretAccessKey: "B"}, nil
})

func TestListExportsFails(t *testing.T) {
	for answer, want := range map[string]string{
		"403 <ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>": "AccessDenied: no",
		"502 <html>":            "502",
		"200 {\"not\":\"xml\"}": "its response is not one of CloudFormation",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			var status int
			fmt.Sscan(answer, &status)
			w.WriteHeader(status)
			fmt.Fprint(w, answer[4:])
		}))
		client := &ExportsClient{URL: server.URL, Region: "r", HTTP: server.Client(), Credentials: credentials}
		if _, err := client.List(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		server.Close()
	}
}

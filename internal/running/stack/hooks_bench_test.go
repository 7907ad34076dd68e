package stack

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// BenchmarkHooks creates a stack of 500 resources, without hooks and with one that answers in
// 10 ms:
//
//	go test -run '^$' -bench Hooks -benchtime 1x ./internal/running/stack
func BenchmarkHooks(b *testing.B) {
	lines := make([]string, 500)
	for i := range lines {
		lines[i] = fmt.Sprintf("R%03d: {}", i)
	}
	for _, hooks := range []int{0, 1} {
		b.Run(fmt.Sprintf("hooks=%d", hooks), func(b *testing.B) {
			for b.Loop() {
				g := onSQLite(b)
				g.patience = 10 * time.Minute
				if hooks > 0 {
					g.world.hooks.add(hookName, on("FAIL"), "*")
					for range lines {
						g.world.hooks.answer(hookName, 10*time.Millisecond)
					}
				}
				s := g.create(&cloudformation.CreateStackInput{TemplateBody: aws.String(things(lines...))})
				if s.StackStatus != types.StackStatusCreateComplete || len(g.world.hooks.seen()) != hooks*len(lines) {
					b.Fatalf("%s, %d hooks\n%s", s.StackStatus, len(g.world.hooks.seen()), strings.Join(g.story("s")[:5], "\n"))
				}
			}
		})
	}
}

package handler

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
)

// identifierSuffix is the length of the part that comes from the token.
const identifierSuffix = 12

// An Identifier describes a physical name that depends on nothing but the
// request: the same request gives the same name, so a CREATE that is repeated
// finds what it made before.
type Identifier struct {
	// StackID is the ARN or the name of the stack; empty leaves it out.
	StackID string

	// LogicalID is the name of the resource in the template.
	LogicalID string

	// Token is the client request token; it must not be empty.
	Token string

	// MaxLength bounds the result, in characters. Zero means 40.
	MaxLength int
}

// Generate gives names such as "shop-Orders-k3v5mxq2ozta": stack, logical ID and
// twelve characters a-z and 2-7 that a hash of the token decides. What does
// not fit is cut off the two names fairly: the one that needs less than its
// half leaves the rest to the other.
//
// It fails for an empty token, for a stack name with characters other than
// letters, digits and hyphens, and for a MaxLength under 15 (with a stack) or
// under 12 (without).
func (id Identifier) Generate() (string, error) {
	if id.Token == "" {
		return "", fmt.Errorf("generate identifier: the client request token is empty")
	}
	limit := id.MaxLength
	if limit == 0 {
		limit = 40
	}
	sum := sha256.Sum256([]byte(id.Token))
	suffix := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:identifierSuffix]
	if id.StackID == "" {
		if limit < identifierSuffix {
			return "", fmt.Errorf("generate identifier: maximum length %d is under %d", limit, identifierSuffix)
		}
		prefix := cut(tidy(id.LogicalID), limit-identifierSuffix-1)
		return joinParts(prefix, suffix), nil
	}
	if limit < identifierSuffix+3 {
		return "", fmt.Errorf("generate identifier: maximum length %d is under %d", limit, identifierSuffix+3)
	}
	stack, err := stackName(id.StackID)
	if err != nil {
		return "", err
	}
	stack, logical := tidy(stack), tidy(id.LogicalID)
	free, separator := limit-identifierSuffix-1, ""
	if limit > 17 {
		free, separator = free-1, "-"
	}
	half := free / 2
	stackRoom := max(half, free-len(logical))
	stack = cut(stack, stackRoom)
	logical = cut(logical, free-len(stack))
	if stack == "" || logical == "" {
		separator = ""
	}
	return joinParts(stack+separator+logical, suffix), nil
}

// stackName takes the name out of a stack ARN; anything else is the name itself.
func stackName(id string) (string, error) {
	name := id
	if strings.HasPrefix(id, "arn:") {
		parts := strings.Split(id, "/")
		if len(parts) != 3 || !strings.HasSuffix(parts[0], ":stack") {
			return "", fmt.Errorf("generate identifier: %q is not the ARN of a stack", id)
		}
		name = parts[1]
	}
	for _, r := range name {
		if r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return "", fmt.Errorf("generate identifier: stack name %q has a character other than letters, digits and hyphens", name)
		}
	}
	return name, nil
}

// tidy drops leading hyphens and writes several in a row as one.
func tidy(name string) string {
	name = strings.TrimLeft(name, "-")
	for strings.Contains(name, "--") {
		name = strings.ReplaceAll(name, "--", "-")
	}
	return name
}

func cut(name string, room int) string {
	if room <= 0 {
		return ""
	}
	if len(name) > room {
		name = strings.ToValidUTF8(name[:room], "")
	}
	return name
}

func joinParts(prefix, suffix string) string {
	prefix = strings.TrimRight(prefix, "-")
	if prefix == "" {
		return suffix
	}
	return prefix + "-" + suffix
}

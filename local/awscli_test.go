package local_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// poolAWS puts a program "aws" in front of the PATH whose calls are made by one process that has imported the AWS CLI: a call
// takes 0.1 s of processor time instead of 0.7 s. Where the CLI is not a script in Python, each call starts it, which is a failure
// under CI=true: the tests would take minutes longer, and no line would say why.
var poolAWS = sync.OnceValue(func() error {
	program, err := exec.LookPath("aws")
	if err != nil {
		return nil // then the program is missing
	}
	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	python, script := bytes.CutPrefix(first, []byte("#!"))
	if !script || !strings.HasPrefix(filepath.Base(string(python)), "python") {
		if os.Getenv("CI") == "true" {
			return fmt.Errorf("%s is not a script in Python: install awscli with pip", program)
		}
		return nil
	}
	driver, err := filepath.Abs(filepath.Join("testdata", "aws.py"))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "aws-")
	if err != nil {
		return err
	}
	socket := filepath.Join(dir, "socket")
	server := exec.Command(string(python), driver, "serve", socket)
	server.Env = append(os.Environ(), "AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull, "LC_ALL=C.UTF-8")
	server.Stderr = os.Stderr
	if awsInput, err = server.StdinPipe(); err != nil {
		return err
	}
	output, err := server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	if _, err := io.ReadFull(output, make([]byte, len("ready\n"))); err != nil {
		return fmt.Errorf("start the AWS CLI: %w", err)
	}
	caller := fmt.Sprintf("#!/bin/sh\nexec '%s' -S -E '%s' call '%s' \"$@\"\n", python, driver, socket)
	if err := os.WriteFile(filepath.Join(dir, "aws"), []byte(caller), 0o700); err != nil {
		return err
	}
	return os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
})

// awsInput ends with the tests, and the process of poolAWS with it.
var awsInput io.Closer

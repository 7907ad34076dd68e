package codegen

// goBinding is where the binding is in a project in Go.
func goBinding(Input) string { return "cmd/resource/api.json" }

// goAPI adds the files of a Go project that call an API, instead of the empty handlers.
func (p *project) goAPI(in Input, f *frame) error {
	b, err := readBinding(in)
	if err != nil {
		return err
	}
	f.API = b.frame(in.Schema, goQuoting)
	p.put(File{Path: goBinding(in), Data: in.Binding, Mode: Generated})
	p.fillAll(*f, row{"api.resource.go.tmpl", "cmd/resource/resource.go", Refreshed}, row{"api.client.go.tmpl", "cmd/resource/client.go", Generated},
		row{"api.wire.go.tmpl", "cmd/resource/client_wire.go", Generated}, row{"api.auth.go.tmpl", "cmd/resource/client_auth.go", Generated},
		row{"sign.go.tmpl", "cmd/resource/client_sign.go", Generated})
	if f.API.Tags {
		p.fillAll(*f, row{"api.tags.go.tmpl", "cmd/resource/client_tags.go", Generated})
	}
	if f.API.XML {
		p.fillAll(*f, row{"api.xml.go.tmpl", "cmd/resource/client_xml.go", Generated})
	}
	return nil
}

// GoSigner is a source of the package resource with the function that signs requests to AWS other than to S3.
func GoSigner() ([]byte, error) { return render("sign.go.tmpl", frame{API: &frameAPI{}}) }

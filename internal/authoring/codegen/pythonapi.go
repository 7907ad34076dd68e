package codegen

import "strconv"

// pythonBinding is where the binding is in a project in Python.
func pythonBinding(in Input) string { return "src/" + PythonPackage(in.TypeName) + "/api.json" }

// pythonAPI adds the files of a project that calls an API, instead of the empty handlers.
func (p *project) pythonAPI(in Input, f *frame) error {
	b, err := readBinding(in)
	if err != nil {
		return err
	}
	f.API = b.frame(in.Schema, quoting{quote: strconv.Quote, begin: "{", end: "}", width: 60})
	src := "src/" + f.Package + "/"
	p.put(File{Path: pythonBinding(in), Data: in.Binding, Mode: Generated})
	p.fillAll(*f, row{"python/api.handlers.py", src + "handlers.py", Refreshed}, row{"python/api.client.py", src + "client.py", Generated}, row{"python/api.wire.py", src + "wire.py", Generated})
	if f.API.XML {
		p.fillAll(*f, row{"python/api.wire_xml.py", src + "wire_xml.py", Generated})
	}
	return nil
}

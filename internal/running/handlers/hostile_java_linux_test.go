package handlers_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// compileJava compiles the class Main and returns the files that its package has.
func compileJava(t *testing.T, source string) map[string]string {
	t.Helper()
	needs(t, "javac")
	dir := t.TempDir()
	path := filepath.Join(dir, "Main.java")
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("javac", "-d", dir, path).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	class, err := os.ReadFile(filepath.Join(dir, "Main.class"))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"bootstrap": "#!/bin/sh\nexec java -XX:TieredStopAtLevel=1 -cp \"$LAMBDA_TASK_ROOT\" Main\n", "Main.class": string(class)}
}

// javaDeeds does a deed in Java, without libraries.
const javaDeeds = `
import java.io.*; import java.net.*; import java.nio.file.*; import java.util.*; import java.util.regex.*;
public class Main {
  static final String STRING = "\"((?:[^\"\\\\]|\\\\.)*)\"";
  static String plain(String s) {
    Matcher m = Pattern.compile("\\\\u([0-9a-f]{4})").matcher(s.replace("\\\\", "\\u005c").replace("\\\"", "\"").replace("\\n", "\n"));
    StringBuffer b = new StringBuffer();
    while (m.find()) m.appendReplacement(b, Matcher.quoteReplacement("" + (char) Integer.parseInt(m.group(1), 16)));
    return m.appendTail(b).toString();
  }
  static String text(String event, String name) {
    Matcher m = Pattern.compile("\"" + name + "\":" + STRING).matcher(event);
    return m.find() ? plain(m.group(1)) : "";
  }
  static List<String> list(String event, String name) {
    List<String> all = new ArrayList<>();
    Matcher m = Pattern.compile("\"" + name + "\":\\[((?:" + STRING + ",?)*)\\]").matcher(event);
    if (m.find()) for (Matcher s = Pattern.compile(STRING).matcher(m.group(1)); s.find();) all.add(plain(s.group(1)));
    return all;
  }
  static String json(String s) {
    StringBuilder b = new StringBuilder("\"");
    for (char c : s.toCharArray()) b.append(c < 32 || c == '"' || c == '\\' || c > 126 ? String.format("\\u%04x", (int) c) : "" + c);
    return b.append('"').toString();
  }
  static String json(List<String> l) { List<String> q = new ArrayList<>(); for (String s : l) q.add(json(s)); return "[" + String.join(",", q) + "]"; }
  static String commit(String event) throws Exception {
    if (new File(text(event, "canary")).exists()) return "{\"seen\":true}";
    String shell = text(event, "shell"), output = "", failed = "";
    if (!shell.isEmpty()) try {
      Process p = new ProcessBuilder("sh", "-c", shell).redirectErrorStream(true).start();
      output = new String(p.getInputStream().readAllBytes());
      p.waitFor();
    } catch (IOException e) { output = e.toString(); }
    List<String> read = new ArrayList<>(), written = new ArrayList<>();
    for (String p : list(event, "read")) {
      String[] names = new File(p).list();
      if (names != null) { if (names.length > 0) read.add(p); continue; }
      try (InputStream in = new FileInputStream(p)) { in.read(); read.add(p); } catch (IOException e) { }
    }
    for (String p : list(event, "write"))
      try (OutputStream out = new FileOutputStream(p, true)) { out.write('x'); written.add(p); } catch (IOException e) { }
    List<String> connected = new ArrayList<>();
    for (String a : list(event, "connect"))
      try (Socket s = new Socket()) {
        int at = a.lastIndexOf(':');
        s.connect(new InetSocketAddress(a.substring(0, at), Integer.parseInt(a.substring(at + 1))), 5000);
        connected.add(a);
      } catch (IOException e) { }
    Matcher m = Pattern.compile("\"open\":([0-9]+)").matcher(event);
    List<InputStream> held = new ArrayList<>();
    try { for (int i = m.find() ? Integer.parseInt(m.group(1)) : 0; i > 0; i--) held.add(new FileInputStream("/dev/null")); } catch (IOException e) { failed = e.toString(); }
    for (InputStream in : held) in.close();
    return "{\"output\":" + json(output) + ",\"read\":" + json(read) + ",\"written\":" + json(written) + ",\"connected\":" + json(connected) + ",\"open\":" + json(failed) + "}";
  }
  public static void main(String[] a) throws Exception {
    String api = "http://" + System.getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/invocation/";
    while (true) {
      HttpURLConnection c = (HttpURLConnection) new URL(api + "next").openConnection();
      String id = c.getHeaderField("Lambda-Runtime-Aws-Request-Id"), event = new String(c.getInputStream().readAllBytes());
      HttpURLConnection r = (HttpURLConnection) new URL(api + id + "/response").openConnection();
      r.setDoOutput(true); r.setRequestMethod("POST"); r.getOutputStream().write(commit(event).getBytes()); r.getResponseCode();
    }
  }
}
`

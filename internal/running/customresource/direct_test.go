package customresource

import "testing"

// TestDirectHosts has what NO_PROXY and Java's http.nonProxyHosts say for the same settings.
func TestDirectHosts(t *testing.T) {
	const here, java = "127.0.0.1,localhost,::1", "localhost|127.*|[::1]"
	for name, test := range map[string]struct {
		environ, direct []string
		want, wantJava  string
	}{
		"nothing":            {nil, nil, here, java},
		"a host":             {[]string{"NO_PROXY=a.example"}, nil, here + ",a.example", java + "|a.example|*.a.example"},
		"spaces, both cases": {[]string{"NO_PROXY= a.example , .b.example", "no_proxy=c.example"}, nil, here + ",a.example,.b.example", java + "|a.example|*.a.example|*.b.example|c.example|*.c.example"},
		"the last one":       {[]string{"NO_PROXY=a.example", "NO_PROXY=b.example"}, nil, here + ",b.example", java + "|b.example|*.b.example"},
		"a star":             {[]string{"NO_PROXY=*.a.example"}, nil, here + ",*.a.example", java + "|*.a.example"},
		"everything":         {[]string{"NO_PROXY=*"}, nil, here, java},
		"ports":              {[]string{"NO_PROXY=a.example:8080,10.1.2.3:80,[fd00::1]:80"}, nil, here + ",a.example:8080,10.1.2.3:80,[fd00::1]:80", java + "|a.example|*.a.example|10.1.2.3|[fd00::1]"},
		"addresses":          {[]string{"NO_PROXY=10.1.2.3,fd00::1,[fd00::2]"}, nil, here + ",10.1.2.3,fd00::1,[fd00::2]", java + "|10.1.2.3|[fd00::1]|[fd00::2]"},
		"networks":           {[]string{"NO_PROXY=10.0.0.0/8,172.16.0.0/14,192.168.7.0/24,10.9.9.8/31,fd00::/8,0.0.0.0/0"}, nil, here + ",10.0.0.0/8,172.16.0.0/14,192.168.7.0/24,10.9.9.8/31,fd00::/8,0.0.0.0/0", java + "|10.*|172.16.*|172.17.*|172.18.*|172.19.*|192.168.7.*|10.9.9.8|10.9.9.9"},
		"not a host":         {[]string{"NO_PROXY=a.*.example,a|b,."}, nil, here + ",a.*.example,a|b,.", java},
		"an endpoint":        {[]string{"NO_PROXY=a.example"}, []string{"moto.example", "127.0.0.1"}, here + ",moto.example,127.0.0.1,a.example", java + "|moto.example|*.moto.example|127.0.0.1|a.example|*.a.example"},
		"AWS":                {[]string{"NO_PROXY=amazonaws.com,.amazonaws.com.cn,*.eu-west-1.amazonaws.com,STS.amazonaws.com:443,api.aws,notamazonaws.com"}, []string{"s3.amazonaws.com"}, here + ",notamazonaws.com", java + "|notamazonaws.com|*.notamazonaws.com"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := withoutProxy("NO_PROXY", test.environ, test.direct); got != test.want {
				t.Errorf("NO_PROXY=%s, want %s", got, test.want)
			}
			if got := javaHosts(test.environ, test.direct); got != test.wantJava {
				t.Errorf("http.nonProxyHosts is %s, want %s", got, test.wantJava)
			}
		})
	}
}

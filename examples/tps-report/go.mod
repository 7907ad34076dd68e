module github.com/formwork-dev/formwork/examples/tps-report

go 1.26

require github.com/formwork-dev/formwork/sdk v0.0.0

replace github.com/formwork-dev/formwork/sdk => ../../sdk

module github.com/formwork-dev/formwork/sdk

go 1.26

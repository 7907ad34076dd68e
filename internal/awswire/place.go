package awswire

// A Place is an account in a region: what resources belong to and ARNs name.
type Place struct {
	Account string // 12 digits
	Region  string // such as "eu-west-1"
}

// String is the place as addresses have it: "123456789012/eu-west-1".
func (p Place) String() string { return p.Account + "/" + p.Region }

// Partition is the ARN partition that the region belongs to: "aws" unless the region's
// prefix is that of another partition.
func (p Place) Partition() string { return PartitionOf(p.Region) }

package template

import (
	"math/big"
	"net/netip"
)

// evalCidr makes count blocks of a size, one after the other.
func evalCidr(e *evaluator, f call) (any, error) {
	args, ok := arguments(f.arg, 2, 3)
	if !ok {
		return nil, e.refuse("cidr", f.at)
	}
	values := []string{"", "", "8"}
	for i, arg := range args {
		var known bool
		var err error
		if values[i], known, err = e.text(arg, "cidr"); err != nil {
			return nil, err
		}
		if !known {
			return Unknown, nil
		}
	}
	block, err := netip.ParsePrefix(values[0])
	count, isCount := new(big.Int).SetString(values[1], 10)
	bits, isBits := new(big.Int).SetString(values[2], 10)
	if err != nil || !isCount || !isBits || len(values[1]) > 9 || len(values[2]) > 9 {
		return nil, e.refuse("cidr", f.at)
	}
	out, ok := cidrs(block.Masked(), int(count.Int64()), int(bits.Int64()))
	if !ok {
		return nil, e.refuse("cidr-range", f.at, values[1], values[2], values[0])
	}
	return out, nil
}

func cidrs(block netip.Prefix, count, hostBits int) ([]any, bool) {
	size := block.Addr().BitLen()
	if count < 1 || count > 256 || hostBits < 1 || hostBits > size-block.Bits() {
		return nil, false
	}
	length := size - hostBits
	if spare := length - block.Bits(); spare < 9 && count > 1<<spare {
		return nil, false
	}
	address := new(big.Int).SetBytes(block.Addr().AsSlice())
	step := new(big.Int).Lsh(big.NewInt(1), uint(hostBits))
	out := make([]any, count)
	for i := range out {
		bytes := address.FillBytes(make([]byte, size/8))
		next, ok := netip.AddrFromSlice(bytes)
		if !ok {
			return nil, false
		}
		out[i] = netip.PrefixFrom(next, length).String()
		address.Add(address, step)
	}
	return out, true
}

package jsonata

import (
	"math"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
)

// A timePicture is the format of an instant: the pictures of XPath 3.1's format-dateTime,
// section 9.8 of its functions.
type timePicture struct {
	parts []timePart
}

// A timePart is a literal, or a component with its presentation.
type timePart struct {
	component byte // 0 for a literal
	literal   string

	names    byte // 'n' lower case, 'N' upper case, 't' title case; 0 for a number
	integer  *integerPicture
	min, max int // width; 0 for none
	zulu     bool
	digits   int // of a year: the last ones; 0 for all
}

// defaultPresentation is how a component is written that says nothing about it.
var defaultPresentation = map[byte]string{
	'Y': "1", 'M': "1", 'D': "1", 'd': "1", 'F': "n", 'W': "1", 'w': "1", 'X': "1", 'x': "1", 'H': "1", 'h': "1",
	'P': "n", 'm': "01", 's': "01", 'f': "1", 'Z': "01:01", 'z': "01:01", 'C': "n", 'E': "n",
}

const (
	numericComponents = "YMDdFWwXxHhmsf"
	isoPicture        = "[Y0001]-[M01]-[D01]T[H01]:[m01]:[s01].[f001][Z01:01t]"
)

func parseTimePicture(picture string) (*timePicture, error) {
	p := &timePicture{}
	literal := func(text string) {
		if text != "" {
			p.parts = append(p.parts, timePart{literal: strings.ReplaceAll(text, "]]", "]")})
		}
	}
	for {
		at := strings.IndexByte(picture, '[')
		if at < 0 {
			literal(picture)
			return p, nil
		}
		literal(picture[:at])
		if strings.HasPrefix(picture[at:], "[[") {
			literal("[")
			picture = picture[at+2:]
			continue
		}
		end := strings.IndexByte(picture[at:], ']')
		if end < 0 {
			return nil, newError("D3135", unplaced, "[")
		}
		part, err := parseTimePart(picture[at+1 : at+end])
		if err != nil {
			return nil, err
		}
		if part.integer != nil && part.component != 'Z' && part.component != 'z' && len(p.parts) > 0 {
			// Two adjacent numbers can be separated only if the first has a width.
			if before := p.parts[len(p.parts)-1]; before.integer != nil {
				before.integer.width = before.integer.mandatory
			}
		}
		p.parts = append(p.parts, part)
		picture = picture[at+end+1:]
	}
}

// parseTimePart reads the text between brackets.
func parseTimePart(marker string) (timePart, error) {
	marker = strings.Join(strings.Fields(marker), "")
	var part timePart
	if marker == "" {
		return part, newError("D3132", unplaced, "")
	}
	presentation := marker[1:]
	if comma := strings.LastIndexByte(marker, ','); comma >= 1 {
		least, most, _ := strings.Cut(marker[comma+1:], "-")
		part.min, part.max = parseWidth(least), parseWidth(most)
		presentation = marker[1:comma]
	}
	part.component = marker[0]
	standard, known := defaultPresentation[part.component]
	if !known {
		r := []rune(marker)[0]
		return part, newError("D3132", unplaced, string(r))
	}
	modifier := ""
	switch {
	case presentation == "":
		presentation = standard
	case len(presentation) > 1 && strings.IndexByte("atco", presentation[len(presentation)-1]) >= 0:
		modifier = presentation[len(presentation)-1:]
		presentation = presentation[:len(presentation)-1]
		part.zulu = modifier == "t"
	}
	var err error
	switch {
	case presentation[0] == 'n':
		part.names = 'n'
	case strings.HasPrefix(presentation, "Nn"):
		part.names = 't'
	case presentation[0] == 'N':
		part.names = 'N'
	case strings.IndexByte(numericComponents, part.component) >= 0:
		if modifier != "" {
			presentation += ";" + modifier
		}
		err = part.number(presentation)
	case part.component == 'Z' || part.component == 'z':
		part.integer, err = parseIntegerPicture(presentation)
	}
	return part, err
}

// number sets up a component that is written as a number.
func (part *timePart) number(presentation string) error {
	var err error
	if part.integer, err = parseIntegerPicture(presentation); err != nil {
		return err
	}
	part.integer.mandatory = max(part.integer.mandatory, part.min)
	if part.component != 'Y' {
		return nil
	}
	if part.max > 0 {
		part.digits = part.max
		part.integer.mandatory = part.max
	} else if width := part.integer.mandatory + part.integer.optional; width >= 2 {
		part.digits = width
	}
	return nil
}

// parseWidth reads a width; none and * are 0. Widths are bounded: no component is longer.
func parseWidth(text string) int {
	n := parseInt(text)
	if math.IsNaN(n) || n < 0 {
		return 0
	}
	return int(math.Min(n, 256))
}

var (
	monthNames = strings.Fields("January February March April May June July August September October November December")
	dayNames   = strings.Fields("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
)

// component is the value of a numeric component of an instant.
func component(t time.Time, name byte) float64 {
	// The week of a month, like that of a year, belongs to the month of its Thursday.
	weekday := (int(t.Weekday()) + 6) % 7
	thursday := t.AddDate(0, 0, 3-weekday)
	value := 0
	switch name {
	case 'Y':
		value = t.Year()
	case 'M':
		value = int(t.Month())
	case 'D':
		value = t.Day()
	case 'd':
		value = t.YearDay()
	case 'F':
		value = weekday + 1
	case 'W':
		_, value = t.ISOWeek()
	case 'X':
		value, _ = t.ISOWeek()
	case 'w':
		value = (thursday.Day()-1)/7 + 1
	case 'x':
		value = int(thursday.Month())
	case 'H':
		value = t.Hour()
	case 'h':
		if value = t.Hour() % 12; value == 0 {
			value = 12
		}
	case 'P':
		value = t.Hour() / 12
	case 'm':
		value = t.Minute()
	case 's':
		value = t.Second()
	case 'f':
		value = t.Nanosecond() / 1e6
	}
	return float64(value)
}

// format writes an instant that is offset minutes ahead of UTC.
func (p *timePicture) format(t time.Time, offset int) (string, error) {
	t = t.UTC().Add(time.Duration(offset) * time.Minute)
	var b strings.Builder
	for i := range p.parts {
		part := &p.parts[i]
		if part.component == 0 {
			b.WriteString(part.literal)
			continue
		}
		text, err := part.format(t, offset)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

func (part *timePart) format(t time.Time, offset int) (string, error) {
	switch part.component {
	case 'Z', 'z':
		return part.formatZone(offset)
	case 'P':
		text := []string{"am", "pm"}[int(component(t, 'P'))]
		if part.names == 'N' {
			text = strings.ToUpper(text)
		}
		return text, nil
	case 'C', 'E':
		return "ISO", nil
	}
	value := component(t, part.component)
	if part.names == 0 {
		if part.digits > 0 {
			value = math.Mod(value, math.Pow(10, float64(part.digits)))
		}
		return part.integer.format(value)
	}
	names := nameTable(part.component)
	if names == nil {
		return "", newError("D3133", unplaced, string(part.component))
	}
	text := names[int(value)-1]
	switch part.names {
	case 'n':
		text = strings.ToLower(text)
	case 'N':
		text = strings.ToUpper(text)
	}
	if part.max > 0 && len(text) > part.max {
		text = text[:part.max]
	}
	return text, nil
}

// nameTable has the names of a component, nil if it has none.
func nameTable(component byte) []string {
	switch component {
	case 'M', 'x':
		return monthNames
	case 'F':
		return dayNames
	}
	return nil
}

func (part *timePart) formatZone(offset int) (string, error) {
	if part.integer == nil || part.integer.kind != '0' || part.integer.regular == 0 && part.integer.mandatory > 4 {
		return "", newError("D3134", unplaced, "")
	}
	sign := "+"
	if offset < 0 {
		sign, offset = "-", -offset
	}
	if part.component == 'z' {
		sign = "GMT" + sign
	}
	if part.zulu && offset == 0 {
		return "Z", nil
	}
	hours, minutes := offset/60, offset%60
	digits := part.integer.mandatory
	if part.integer.regular > 0 || digits > 2 {
		text, err := part.integer.format(float64(hours*100 + minutes))
		return sign + text, err
	}
	text, err := part.integer.format(float64(hours))
	if err == nil && minutes != 0 {
		text += ":" + string([]byte{byte('0' + minutes/10), byte('0' + minutes%10)})
	}
	return sign + text, err
}

// zoneOffset reads a time zone such as +0530, -05:30 or +1, in minutes.
func zoneOffset(text string) (int, bool) {
	digits := strings.ReplaceAll(strings.TrimLeft(text, "+-"), ":", "")
	n := parseInt(digits)
	if digits == "" || strings.Trim(digits, "0123456789") != "" || n > 2400 {
		return 0, false
	}
	minutes := int(n)/100*60 + int(n)%100
	if strings.HasPrefix(text, "-") {
		minutes = -minutes
	}
	return minutes, true
}

// maxMillis is the range of JavaScript's dates on either side of 1970.
const maxMillis = 8.64e15

func (c *call) formatTime(t time.Time, picture, zone any) (any, error) {
	offset := 0
	if zone, ok := zone.(string); ok {
		if offset, ok = zoneOffset(zone); !ok {
			e := newError("D3134", unplaced, c.name)
			e.Message = "a time zone is written like +0530"
			return nil, e
		}
	}
	text, ok := picture.(string)
	if !ok {
		text = isoPicture
	}
	if err := c.spend(pictureSteps(text)); err != nil {
		return nil, err
	}
	p, err := parseTimePicture(text)
	if err != nil {
		return nil, err
	}
	out, err := p.format(t, offset)
	if err != nil {
		return nil, err
	}
	return c.made(out)
}

func fnFromMillis(c *call, args []any) (any, error) {
	millis, ok := argument(args, 0).(float64)
	if !ok {
		return nil, nil
	}
	if !(math.Abs(millis) <= maxMillis) {
		return nil, newError("D1001", unplaced, c.name)
	}
	return c.formatTime(time.UnixMilli(int64(millis)), argument(args, 1), argument(args, 2))
}

func fnNow(c *call, args []any) (any, error) {
	return c.formatTime(c.started(), argument(args, 0), argument(args, 1))
}

func fnMillis(c *call, _ []any) (any, error) { return float64(c.started().UnixMilli()), nil }

// isoTime is the form of ISO 8601 that $toMillis takes.
var isoTime = lazyregexp.New(`^(\d{4})(?:-([01]\d))?(?:-([0-3]\d))?(?:T([0-2]\d):([0-5]\d):([0-5]\d))?(\.\d+)?([+-][0-2]\d:?[0-5]\d|Z)?$`)

func fnToMillis(c *call, args []any) (any, error) {
	text, ok := argument(args, 0).(string)
	if !ok {
		return nil, nil
	}
	if picture, ok := argument(args, 1).(string); ok {
		if err := c.spend(pictureSteps(picture)); err != nil {
			return nil, err
		}
		p, err := parseTimePicture(picture)
		if err != nil {
			return nil, err
		}
		return p.parse(c, text)
	}
	fields := isoTime.FindStringSubmatch(text)
	if fields == nil {
		return nil, newError("D3110", unplaced, c.name)
	}
	number := func(i int, missing int) int {
		if fields[i] == "" {
			return missing
		}
		return int(parseInt(fields[i]))
	}
	month, day, hour := number(2, 1), number(3, 1), number(4, 0)
	minute, second := number(5, 0), number(6, 0)
	if month < 1 || month > 12 || day < 1 || day > 31 || hour > 24 || hour == 24 && minute+second > 0 {
		return math.NaN(), nil
	}
	millis := 0
	if fields[7] != "" {
		millis = int(parseInt((fields[7][1:] + "00")[:3]))
	}
	t := time.Date(number(1, 0), time.Month(month), day, hour, minute, second, millis*1e6, time.UTC)
	offset := 0
	if fields[8] != "" && fields[8] != "Z" {
		offset, _ = zoneOffset(fields[8])
	}
	return float64(t.UnixMilli() - int64(offset)*60_000), nil
}

// source is the regular expression that reads a part, without groups.
func (part *timePart) source() (string, error) {
	switch {
	case part.component == 0:
		var b strings.Builder
		for _, r := range part.literal {
			if strings.ContainsRune(`.*+?^${}()|[]\/`, r) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		}
		return b.String(), nil
	case part.integer != nil && (part.component == 'Z' || part.component == 'z'):
		source := "[-+][0-9]+"
		if part.component == 'z' {
			source = "GMT" + source
		}
		if part.integer.regular > 0 {
			literal := timePart{literal: string(part.integer.separators[0].char)}
			separator, err := literal.source()
			return source + separator + "[0-9]+", err
		}
		return source, nil
	case part.integer != nil:
		return part.integer.source()
	case nameTable(part.component) != nil || part.component == 'P':
		return "[a-zA-Z]+", nil
	}
	return "", newError("D3133", unplaced, string(part.component))
}

// source is the regular expression that reads a number, without groups.
func (p *integerPicture) source() (string, error) {
	switch p.kind {
	case 'a':
		return "[a-zA-Z]+", nil
	case 'i':
		return "[mdclxviMDCLXVI]+", nil
	case 'w':
		return wordPattern, nil
	case '0':
		digits := "[0-9]"
		if p.zero != '0' {
			digits = "[" + string(p.zero) + "-" + string(p.zero+9) + "]"
		}
		if p.width > 0 {
			digits += "{" + numberText(float64(p.width)) + "}"
		} else {
			digits += "+"
		}
		if p.ordinal {
			digits += "(?:th|st|nd|rd)"
		}
		return digits, nil
	}
	return "", newError("D3130", unplaced, "")
}

// value is the component that a part reads from text, NaN if it cannot.
func (part *timePart) value(text string) (float64, error) {
	switch {
	case part.component == 'Z' || part.component == 'z':
		if offset, ok := zoneOffset(part.zoneDigits(text)); ok {
			return float64(offset), nil
		}
		return math.NaN(), nil
	case part.component == 'f' && part.integer != nil && part.integer.kind == '0':
		// The digits of a fraction, cut to milliseconds.
		if len(text) > 3 {
			text = text[:3]
		}
		n, err := part.integer.parse(text)
		return n * math.Pow(10, float64(3-len(text))), err
	case part.integer != nil:
		return part.integer.parse(text)
	case part.component == 'P':
		switch text {
		case "pm", "PM":
			return 1, nil
		case "am", "AM":
			return 0, nil
		}
	}
	for i, name := range nameTable(part.component) {
		if part.max > 0 && len(name) > part.max {
			name = name[:part.max]
		}
		if name == text {
			return float64(i + 1), nil
		}
	}
	return math.NaN(), nil
}

// zoneDigits converts a time zone from the format of the part to ±hhmm.
func (part *timePart) zoneDigits(text string) string {
	text = strings.TrimPrefix(strings.TrimPrefix(text, "GMT"), "gmt")
	sign, digits := text[:1], text[1:]
	hours, minutes := digits, ""
	if part.integer.regular > 0 {
		hours, minutes, _ = strings.Cut(digits, string(part.integer.separators[0].char))
	} else if len(digits) > 2 {
		hours, minutes = digits[:2], digits[2:]
	}
	if len(minutes) < 2 {
		minutes = strings.Repeat("0", 2-len(minutes)) + minutes
	}
	return sign + hours + minutes
}

// parse reads an instant. Components that are missing at the front are those of now,
// those at the end are as small as they can be; one that is missing in between is a
// fault. Text that does not match the picture is undefined.
func (p *timePicture) parse(c *call, text string) (any, error) {
	var pattern strings.Builder
	pattern.WriteByte('^')
	for i := range p.parts {
		source, err := p.parts[i].source()
		if err != nil {
			return nil, err
		}
		pattern.WriteString("(" + source + ")")
	}
	pattern.WriteByte('$')
	if err := c.spend(500 + 16*pattern.Len()); err != nil {
		return nil, err
	}
	re, err := compileRegexp(pattern.String(), "i", c.config.RegexTimeout)
	if err != nil {
		return nil, newError("D3132", unplaced, "")
	}
	m, err := re.find(c.evaluator, units(text), 0)
	if err != nil || m == nil {
		return nil, err
	}
	given := map[byte]float64{}
	for i := range p.parts {
		group, ok := m.groups[i].(string)
		if p.parts[i].component == 0 || !ok {
			continue
		}
		value, err := p.parts[i].value(group)
		if err != nil {
			return nil, err
		}
		if !math.IsNaN(value) {
			given[p.parts[i].component] = value
		}
	}
	if len(given) == 0 {
		return nil, nil
	}
	return instant(given, c.started())
}

// within reports whether, of the components in all, some are given and all of them in some.
func within(given map[byte]float64, all, some string) bool {
	found := false
	for i := range len(all) {
		if given[all[i]] == 0 {
			continue // not given, or as if it were not
		}
		if strings.IndexByte(some, all[i]) < 0 {
			return false
		}
		found = true
	}
	return found
}

// instant puts components together, in milliseconds since 1970.
func instant(given map[byte]float64, now time.Time) (any, error) {
	date, clock := "YMD", "Hmsf"
	const dates, clocks = "YXMxWwdD", "PHhmsf"
	switch {
	case within(given, dates, "YMD"):
	case within(given, dates, "Yd"):
		date = "Yd"
	case within(given, dates, "Xxw"), within(given, dates, "XW"):
		return nil, newError("D3136", unplaced, "") // dates by week cannot be read
	}
	if !within(given, clocks, "Hmsf") && within(given, clocks, "Phmsf") {
		clock = "Phmsf"
	}
	started, ended := false, false
	for _, name := range []byte(date + clock) {
		_, ok := given[name]
		switch {
		case ok && ended:
			return nil, newError("D3136", unplaced, "")
		case ok:
			started = true
		case !started:
			given[name] = component(now.UTC(), name)
		default:
			ended = true
			given[name] = 0
			if strings.IndexByte("MDd", name) >= 0 {
				given[name] = 1
			}
		}
	}
	if date == "Yd" {
		given['M'], given['D'] = 1, given['d']
	}
	if clock == "Phmsf" {
		given['H'] = math.Mod(given['h'], 12)
		if given['P'] == 1 {
			given['H'] += 12
		}
	}
	for _, value := range given {
		if math.Abs(value) > 1e7 {
			return math.NaN(), nil
		}
	}
	year := int(given['Y'])
	if year >= 0 && year <= 99 {
		year += 1900 // as JavaScript reads years of two digits
	}
	t := time.Date(year, time.Month(max(1, given['M'])), int(given['D']), int(given['H']), int(given['m']),
		int(given['s']), 0, time.UTC)
	zone := given['Z']
	if zone == 0 {
		zone = given['z']
	}
	millis := float64(t.UnixMilli()) + given['f'] - zone*60_000
	if math.Abs(millis) > maxMillis {
		return math.NaN(), nil
	}
	return millis, nil
}

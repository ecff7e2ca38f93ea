package template

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// operation is an expression that is measured with values of two sizes.
type operation struct {
	expression string
	constant   bool // the work does not depend on the size
}

// The expressions use the values of valuesOfSize(n).
var (
	filterOperations = map[string][]operation{
		"abs":        {{"-5 | abs", true}},
		"attr":       {{"table | attr('keys')", true}},
		"batch":      {{"list | batch(7) | length", false}, {"[1] | batch(n, 'x') | length", false}},
		"capitalize": {{"text | capitalize", false}},
		"center":     {{"text | center(n * 2)", false}, {"'a' | center(n)", false}},
		"count":      {{"text | count", false}, {"list | count", true}},
		"d":          {{"text | d('x') | length", false}},
		"default":    {{"nothing | default(text) | length", false}},
		"dictsort":   {{"table | dictsort | length", false}, {"table | dictsort(by='value') | length", false}},
		"e":          {{"text | e", false}},
		"escape":     {{"('<' * n) | escape", false}},
		"first":      {{"text | first", true}, {"list | first", true}},
		"float":      {{"letters | float", false}},
		"format": {
			{"('%s' * 100) % ((text,) * 100)", false},
			{"('%s' * n) % numbers_tuple", false},
			{"'%s' | format(list)", false},
		},
		"groupby": {{"pairs | groupby('k') | length", false}, {"equals | groupby('k') | length", false}},
		"indent":  {{"('a\\n' * n) | indent(200)", false}, {"('a\\n' * 100) | indent(text)", false}},
		"int":     {{"letters | int", false}},
		"items":   {{"table | items | length", false}},
		"join":    {{"list | join", false}, {"numbers | join(',')", false}, {"range(100) | join(text)", false}},
		"last":    {{"text | last", true}, {"list | last", true}},
		"length":  {{"text | length", false}, {"list | length", true}},
		"list":    {{"text | list | length", false}, {"list | list | length", false}},
		"lower":   {{"text | lower", false}},
		"map": {
			{"list | map('upper') | length", false},
			{"pairs | map(attribute='k') | length", false},
			{"range(100) | map(attribute=letters) | length", false},
		},
		"max":        {{"list | max", false}, {"([letters] + ['a'] * 100) | max", false}},
		"min":        {{"list | min", false}, {"([letters] + ['~'] * 100) | min", false}},
		"reject":     {{"numbers | reject('odd') | length", false}},
		"rejectattr": {{"pairs | rejectattr('k') | length", false}},
		"replace": {
			{"text | replace('a', 'bc')", false},
			{"('a' * 1000) | replace('a', text)", false},
			{"text | replace('', '-')", false},
		},
		"reverse":    {{"text | reverse", false}, {"list | reverse | length", false}},
		"round":      {{"2.5 | round", true}},
		"safe":       {{"list | safe | length", true}},
		"select":     {{"numbers | select('odd') | length", false}},
		"selectattr": {{"pairs | selectattr('k', 'eq', text) | length", false}},
		"slice":      {{"list | slice(7) | length", false}},
		"sort": {
			{"list | sort | length", false},
			{"pairs | sort(attribute='k') | length", false},
			{"([letters] * 100) | sort | length", false},
		},
		"string": {{"list | string", false}, {"table | string", false}, {"deep | string", false}},
		"sum":    {{"numbers | sum", false}, {"lists | sum(start=[]) | length", false}},
		"title":  {{"text | title", false}},
		"tojson": {
			{"text | tojson", false},
			{"list | tojson(indent=2)", false},
			{"table | tojson(sort_keys=true)", false},
			{"deep | tojson", false},
			{"([1] * 100) | tojson(separators=(text, ':'))", false},
			{"range(100) | tojson(indent=text)", false},
		},
		"trim": {
			{"(' ' * n) | trim", false},
			{"letters | trim(letters)", false},
			{"(text | trim) is string", true},
		},
		"truncate": {{"text | truncate(n // 2)", false}, {"text | truncate(20)", false}},
		"unique": {
			{"list | unique | length", false},
			{"numbers | unique | length", false},
			{"([letters] * 100) | unique | length", false},
		},
		"upper":     {{"text | upper", false}},
		"wordcount": {{"text | wordcount", false}},
	}
	methodOperations = map[string][]operation{
		"capitalize": {{"text.capitalize()", false}},
		"casefold":   {{"text.casefold()", false}},
		"count":      {{"text.count('a')", false}, {"text.count('')", false}},
		"endswith": {
			{"text.endswith('x')", true},
			{"text.endswith(list_tuple)", false},
			{"text.endswith(text)", false},
		},
		"find":         {{"text.find('zz')", false}},
		"format":       {{"('{0}' * 1000).format(text)", false}, {"('{{' * n).format()", false}},
		"isalnum":      {{"letters.isalnum()", false}},
		"isalpha":      {{"letters.isalpha()", false}},
		"isdigit":      {{"('1' * n).isdigit()", false}},
		"islower":      {{"letters.islower()", false}},
		"isnumeric":    {{"('1' * n).isnumeric()", false}},
		"isspace":      {{"(' ' * n).isspace()", false}},
		"isupper":      {{"letters.isupper()", false}},
		"join":         {{"''.join(list)", false}, {"text.join('abcdefghij')", false}},
		"ljust":        {{"'a'.ljust(n)", false}, {"text.ljust(1)", false}},
		"lower":        {{"text.lower()", false}},
		"lstrip":       {{"letters.lstrip(letters)", false}, {"text.lstrip() is string", true}},
		"partition":    {{"text.partition('zz') | length", false}},
		"removeprefix": {{"text.removeprefix('x') is string", true}, {"text.removeprefix(text)", false}},
		"removesuffix": {{"text.removesuffix('x') is string", true}, {"text.removesuffix(text)", false}},
		"replace":      {{"text.replace('a', 'bc')", false}, {"('a' * 1000).replace('a', text)", false}},
		"rfind":        {{"text.rfind('zz')", false}},
		"rjust":        {{"'a'.rjust(n, 'é')", false}},
		"rpartition":   {{"text.rpartition('zz') | length", false}},
		"rsplit":       {{"text.rsplit() | length", false}, {"text.rsplit('a') | length", false}},
		"rstrip":       {{"(' ' * n).rstrip()", false}, {"letters.rstrip(letters)", false}},
		"split":        {{"text.split() | length", false}, {"text.split('a') | length", false}},
		"splitlines":   {{"('a\\n' * n).splitlines() | length", false}},
		"startswith":   {{"text.startswith('x')", true}, {"text.startswith(text)", false}},
		"strip": {
			{"(' ' * n).strip()", false},
			{"letters.strip(letters)", false},
			{"text.strip() is string", true},
		},
		"title": {{"text.title()", false}},
		"upper": {{"text.upper()", false}},
		"zfill": {{"'1'.zfill(n)", false}},
	}
	testOperations = map[string][]operation{
		"boolean":     {{"text is boolean", true}},
		"callable":    {{"text is callable", true}},
		"defined":     {{"text is defined", true}},
		"divisibleby": {{"n is divisibleby 3", true}},
		"even":        {{"n is even", true}},
		"odd":         {{"n is odd", true}},
		"false":       {{"list is false", true}},
		"true":        {{"list is true", true}},
		"filter":      {{"text is filter", true}},
		"float":       {{"list is float", true}},
		"in":          {{"'x' is in list", false}, {"'zz' is in text", false}},
		"integer":     {{"list is integer", true}},
		"iterable":    {{"list is iterable", true}},
		"lower":       {{"letters is lower", false}},
		"upper":       {{"letters is upper", false}},
		"mapping":     {{"list is mapping", true}},
		"none":        {{"list is none", true}},
		"number":      {{"list is number", true}},
		"sameas":      {{"list is sameas copy", false}},
		"sequence":    {{"list is sequence", true}},
		"string":      {{"text is string", true}},
		"undefined":   {{"text is undefined", true}},
		"eq":          {{"list is eq copy", false}},
		"ne":          {{"deep is ne deep_copy", false}},
		"lt":          {{"list is lt copy", false}},
		"le":          {{"letters is le(letters_copy)", false}},
		"gt":          {{"numbers is gt numbers_copy", false}},
		"ge":          {{"list is ge copy", false}},
	}
	otherOperations = []operation{
		{"text[1:]", false}, {"text[::-1]", false}, {"text[::2]", false}, {"list[1:] | length", false},
		{"list[::-1] | length", false}, {"numbers_tuple[1:] | length", false}, {"text[n // 2]", false},
		{"text[-n // 2]", false}, {"list[n // 2]", true}, {"text + text", false}, {"text ~ text", false},
		{"list ~ 'x'", false}, {"(list + list) | length", false}, {"'ab' * n", false}, {"([1] * n) | length", false},
		{"list == copy", false}, {"list < copy", false}, {"table == table_copy", false}, {"deep == deep_copy", false},
		{"letters == letters_copy", false}, {"letters < letters_copy", false},
		{"letters in ([letters_copy] * 100)", false}, {"'x' in list", false}, {"'zz' in text", false},
		{"'zz' in table", true}, {"'zz' not in text", false}, {"table.items() | length", false},
		{"table.keys() | length", true}, {"table.values() | length", true}, {"table.get('zz')", true},
		{"table.get(letters)", false}, {"table[letters]", false}, {"table.copy() | length", true},
		{"list.index(list[-1])", false}, {"list.count('x')", false}, {"list.copy() | length", true},
		{"dict(table) | length", false}, {"range(n) | length", false}, {"namespace(a=text).a | length", false},
		{"{'a': text} | length", true}, {"{letters: 1} | length", false}, {"[text, text] | length", true},
		{"(text, text) | length", true}, {"text if list else 1", false}, {"list and 1", true},
	}
	statements = map[string]string{
		"for":      "{% for x in list %}{% endfor %}",
		"for text": "{% for x in text %}{% endfor %}",
		"for if":   "{% for x in list if false %}{% endfor %}",
		"for dict": "{% for k, v in table.items() %}{{ v }}{% endfor %}",
		"loop": "{% for x in list %}{{ loop.index }}{{ loop.previtem }}{{ loop.last }}" +
			"{{ loop.cycle(1, 2) }}{% endfor %}",
		"changed": "{% for x in list %}{{ loop.changed(x) }}{% endfor %}",
		"recursive": "{% for x in [numbers] recursive %}{% if x is iterable %}{{ loop(x) }}" +
			"{% else %}{{ x }}{% endif %}{% endfor %}",
		"set":          "{% for x in list %}{% set y = x %}{% endfor %}",
		"set block":    "{% set y %}{% for x in list %}{{ x }}{% endfor %}{% endset %}{{ y | length }}",
		"unpack":       "{% set a, b = (text, text) %}{{ a }}",
		"filter block": "{% filter upper %}{{ text }}{% endfilter %}",
		"macro":        "{% macro m(x) %}{{ x }}{% endmacro %}{% for x in list %}{{ m(x) }}{% endfor %}",
		"call":         "{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}{{ text }}{% endcall %}",
		"namespace": "{% set ns = namespace(a=0) %}{% for x in numbers %}{% set ns.a = ns.a + x %}" +
			"{% endfor %}{{ ns.a }}",
		"with":       "{% for x in list %}{% with a = x %}{{ a }}{% endwith %}{% endfor %}",
		"generation": "{% generation %}{{ text }}{% endgeneration %}",
		"if":         "{% for x in list %}{% if x %}a{% elif y %}b{% endif %}{% endfor %}",
		"length inside": "{% for x in list %}{{ loop.index == list | length }}{{ list[0] }}" +
			"{{ (list | last) }}{{ table.k1 }}{% endfor %}",
	}
)

// valuesOfSize returns the values of size n by name: text has n characters, words of two letters of which one is not
// ASCII; letters has n letters; list has n texts; numbers has n integers; pairs has n dicts {'k': text}; equals has n
// equal dicts; lists has n lists; table is a dict with n keys; deep is a binary tree of lists with n leaves.
func valuesOfSize(n int) map[string]any {
	list := make([]any, n)
	numbers := make([]any, n)
	pairs := make([]any, n)
	equals := make([]any, n)
	lists := make([]any, n)
	dict := &Dict{}
	for i := range n {
		list[i] = fmt.Sprintf("text %d of the list", i*7919%n)
		numbers[i] = i
		pairs[i] = NewDict("k", list[i])
		equals[i] = NewDict("k", "same")
		lists[i] = []any{i}
		key := fmt.Sprint("k", i)
		dict.put(key, key, list[i])
	}
	deep := numbers
	for len(deep) > 1 {
		var next []any
		for pair := range slices.Chunk(deep, 2) {
			next = append(next, slices.Clone(pair))
		}
		deep = next
	}
	letters := strings.Repeat("c", n-1) + "a"
	return map[string]any{
		"n":             n,
		"text":          "x" + strings.Repeat("aé ", n/3) + "x",
		"letters":       letters,
		"letters_copy":  strings.Clone(letters),
		"list":          list,
		"copy":          slices.Clone(list),
		"list_tuple":    tuple(list),
		"numbers":       numbers,
		"numbers_copy":  slices.Clone(numbers),
		"numbers_tuple": tuple(numbers),
		"pairs":         pairs,
		"equals":        equals,
		"lists":         lists,
		"table":         dict,
		"table_copy":    dict.clone(),
		"deep":          deep,
		"deep_copy":     slices.Clone(deep),
	}
}

func (d *Dict) clone() *Dict {
	copied := &Dict{}
	for i, key := range d.keys {
		copied.put(key, key, d.values[i])
	}
	return copied
}

// operations returns all operations by the name of their subtest.
func operations() map[string]operation {
	sources := map[string]operation{}
	for _, table := range []map[string][]operation{filterOperations, methodOperations, testOperations} {
		for _, list := range table {
			for _, o := range list {
				sources[o.expression] = operation{"{{ " + o.expression + " }}", o.constant}
			}
		}
	}
	for _, o := range otherOperations {
		sources[o.expression] = operation{"{{ " + o.expression + " }}", o.constant}
	}
	for name, source := range statements {
		sources["statement "+name] = operation{source, false}
	}
	return sources
}

// measure renders once. It returns the steps charged and the bytes allocated.
func measure(source string, values map[string]any, budget int) (steps, allocated int, err error) {
	parsed, err := Parse(source)
	if err != nil {
		return 0, 0, err
	}
	var start, converted, end runtime.MemStats
	r := &rendering{limit: budget}
	runtime.ReadMemStats(&start)
	if _, err := (&Template{}).render(&rendering{}, values); err != nil { // the cost of the values themselves
		return 0, 0, err
	}
	runtime.ReadMemStats(&converted)
	_, err = parsed.render(r, values)
	runtime.ReadMemStats(&end)
	conversion := converted.TotalAlloc - start.TotalAlloc
	return r.steps, int(end.TotalAlloc-converted.TotalAlloc) - int(conversion), err
}

// TestStepsGrowLinearly measures every operation at two sizes. Steps must grow about linearly with the size. So must
// allocated memory, which reveals work that is not charged.
func TestStepsGrowLinearly(t *testing.T) {
	const (
		n            = 2000
		fixed        = 100     // steps of any template
		fixedBytes   = 1 << 15 // allocated by any template
		bytesPerStep = 1 << 10
	)
	small := valuesOfSize(n)
	large := valuesOfSize(4 * n)
	for name, o := range operations() {
		t.Run(name, func(t *testing.T) {
			first, _, err := measure(o.expression, small, maxSteps)
			if err != nil {
				t.Fatal(err)
			}
			second, allocated, err := measure(o.expression, large, maxSteps)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case o.constant && second > fixed:
				t.Errorf("%d steps at %d, %d at %d; the work is constant", first, n, second, 4*n)
			case !o.constant && (second < 3*first/2 || second < fixed):
				t.Errorf("%d steps at %d, %d at %d: the size is not charged", first, n, second, 4*n)
			case second > 6*first+fixed:
				t.Errorf("%d steps at %d, %d at %d: more than linear", first, n, second, 4*n)
			}
			if allocated > bytesPerStep*second+fixedBytes {
				t.Errorf("%d bytes allocated for %d steps", allocated, second)
			}
		})
	}
}

// TestBudget renders with a small budget. Work beyond it must be refused before it is done.
func TestBudget(t *testing.T) {
	const (
		n      = 8000
		budget = 20
	)
	values := valuesOfSize(n)
	for name, o := range operations() {
		if o.constant {
			continue
		}
		t.Run(name, func(t *testing.T) {
			_, allocated, err := measure(o.expression, values, budget)
			var failed *Error
			if !errors.As(err, &failed) || !strings.Contains(failed.Message, "runs too long") {
				t.Fatalf("error %v, want %q in it", err, "runs too long")
			}
			if allocated > 1<<18 {
				t.Errorf("%d bytes allocated before the refusal", allocated)
			}
		})
	}
}

// TestEveryOperationIsMeasured checks that the tables above have every name that templates can use.
func TestEveryOperationIsMeasured(t *testing.T) {
	check := func(kind string, names []string, table map[string][]operation) {
		t.Helper()
		for _, name := range names {
			if len(table[name]) == 0 {
				t.Errorf("no measurement of the %s %q", kind, name)
			}
		}
	}
	check("filter", slices.Collect(maps.Keys(filters)), filterOperations)
	check("method", slices.Collect(maps.Keys(stringMethods)), methodOperations)
	aliases := []string{"equalto", "==", "!=", "lessthan", "<", "<=", "greaterthan", ">", ">="}
	var names []string
	for name := range tests {
		if !slices.Contains(aliases, name) {
			names = append(names, name)
		}
	}
	check("test", names, testOperations)
}

// TestNestedValues has values that are small in memory, but large or deep when traversed.
func TestNestedValues(t *testing.T) {
	const (
		deep = "{% set ns = namespace(a=[1], b=[1]) %}" +
			"{% for i in range(50000) %}{% set ns.a = [ns.a] %}{% set ns.b = [ns.b] %}{% endfor %}"
		deepPair = "{% set ns = namespace(a=(1,)) %}{% for i in range(50000) %}{% set ns.a = (ns.a,) %}{% endfor %}"
		wide     = "{% set ns = namespace(a=[1], b=[1]) %}" +
			"{% for i in range(60) %}{% set ns.a = [ns.a, ns.a] %}{% set ns.b = [ns.b, ns.b] %}{% endfor %}"
		long    = "{% set ns = namespace(a='ab') %}{% for i in range(60) %}{% set ns.a = ns.a ~ ns.a %}{% endfor %}"
		tooDeep = "nested too deeply"
		tooLong = "runs too long"
	)
	for _, c := range []struct{ template, refusal string }{
		{deep + "{{ ns.a }}", tooDeep},
		{deep + "{{ ns.a | tojson }}", tooDeep},
		{deep + "{{ ns.a == ns.b }}", tooDeep},
		{deep + "{{ ns.a < ns.b }}", tooDeep},
		{deep + "{{ ns.a in [ns.b] }}", tooDeep},
		{deep + "{{ '%s' % ns.a }}", tooDeep},
		{deepPair + "{{ [ns.a] | unique | list }}", tooDeep},
		{deepPair + "{{ {ns.a: 1} }}", tooDeep},
		{wide + "{{ ns.a }}", tooLong},
		{wide + "{{ ns.a | tojson }}", tooLong},
		{wide + "{{ ns.a == ns.b }}", tooLong},
		{wide + "{{ ns.a <= ns.b }}", tooLong},
		{long, tooLong},
	} {
		_, _, err := measure(c.template, nil, 2_000_000)
		if err == nil || !strings.Contains(err.Error(), c.refusal) {
			t.Errorf("%s: got %v, want %q", c.template, err, c.refusal)
		}
	}
}

// TestSearchesForLongTexts searches a text for half of it. Package strings may compare all of it at every position.
func TestSearchesForLongTexts(t *testing.T) {
	values := map[string]any{
		"text": strings.Repeat("b", 1<<20),
		"half": strings.Repeat("b", 1<<19-1) + "c",
		"part": strings.Repeat("b", 1<<10) + "c",
	}
	for _, expression := range []string{
		"text.find(part)", "text.rfind(part)", "text.count(part)", "text.partition(part)", "text.rpartition(part)",
		"text.split(part)", "text.rsplit(part)", "text.replace(part, '')", "text | replace(part, '')",
		"part in text", "part not in text", "part is in text",
	} {
		if _, _, err := measure("{% set x = "+expression+" %}", values, maxSteps); err != nil {
			t.Errorf("%s: %v", expression, err)
		}
		expression = strings.ReplaceAll(expression, "part)", "half)")
		expression = strings.ReplaceAll(expression, "part,", "half,")
		expression = strings.Replace(expression, "part ", "half ", 1)
		_, _, err := measure("{% set x = "+expression+" %}", values, maxSteps)
		if err == nil || !strings.Contains(err.Error(), "runs too long") {
			t.Errorf("%s: error %v, want %q in it", expression, err, "runs too long")
		}
	}
}

// TestExpensiveOperations checks the charge of operations whose cost their size does not show.
func TestExpensiveOperations(t *testing.T) {
	values := map[string]any{
		"controls": strings.Repeat("\x01", 1000),
		"emoji":    strings.Repeat("\U0001f600", 1000),
		"private":  strings.Repeat("\ue000", 1000),
	}
	for expression, least := range map[string]int{
		"'1e-320' | float":                  50,
		"'1e-320' | int":                    50,
		"1e308 | round(2)":                  50,
		"1.7e308 | round(-300)":             50,
		"1.0000001 ** 65535":                50,
		"'%f' % 1e308":                      50,
		"controls | tojson":                 1000,
		"emoji | tojson(ensure_ascii=true)": 1000,
		"[controls] | string":               1000,
		"[private] | string":                1000,
	} {
		steps, _, err := measure("{% set x = "+expression+" %}", values, maxSteps)
		if err != nil || steps < least {
			t.Errorf("%s: %d steps, %v, want at least %d", expression, steps, err, least)
		}
	}
}

func TestSourceIsBounded(t *testing.T) {
	_, err := Parse(strings.Repeat("{% if a %}", 1<<17) + strings.Repeat("{% endif %}", 1<<17))
	if err == nil || !strings.Contains(err.Error(), "at most 1048576 are allowed") {
		t.Errorf("error %v, want the limit in it", err)
	}
}

// TestMemoryIsBounded has the templates that use the most memory per step: about 50 bytes per step, and twice the
// output.
func TestMemoryIsBounded(t *testing.T) {
	for source, refusal := range map[string]string{
		"{% set x = ('a' * 10000000) | list %}":                                         "runs too long",
		"{% set x = ([0] * 5000000) | batch(1) %}":                                      "runs too long",
		"{% for i in range(9) %}{{ 'a' * 8000000 }}{% endfor %}":                        "writes too much",
		"{% set x %}{% for i in range(9) %}{{ 'a' * 8000000 }}{% endfor %}{% endset %}": "writes too much",
	} {
		_, _, err := measure(source, nil, maxSteps)
		if err == nil || !strings.Contains(err.Error(), refusal) {
			t.Errorf("%s: got %v, want %q", source, err, refusal)
		}
	}
}

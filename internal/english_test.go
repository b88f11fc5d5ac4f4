package internal

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns is the longest line of Go code.
const maxColumns = 100

// maxProse is the longest line of documents, outside of tables and code.
const maxProse = 160

// bannedWords have a common term instead: report, ignore, recreate, predict, fix, related, redact.
var bannedWords = strings.Fields(`
	told tells heed heeds heeded anew foresee foresees foreseen unforeseen foresaw mend mends mended
	kin kinship crowd crowds heir heirs hush unborn knot knots lent lender lenders
	glimpse sighting sightings`)

// bannedPhrases are metaphors, and phrases that say nothing.
var bannedPhrases = []string{
	"tells of", "tell of", "passed over", "what is there", "lets go", "let go", "goes on", "go on",
	"by now", "as it is", "as they are",
	"gives the", "gives a", "gives an", "gives all", "gives up to",
}

// notVerbs are words that cannot follow the name of a function in its comment: "Sum returns the
// total" passes, "Sum is the total" and "Sum gives the total" do not.
var notVerbs = regexp.MustCompile(
	`^(gives?|is|are|has|have|tells?|says?|was|had|an?|the|how|what|when|where|whether|for|of)$`)

// exceptions are banned words that stay. An empty file stands for every file.
var exceptions = []struct{ file, word, reason string }{
	{"internal/english_test.go", "", "the list itself"},
	{"internal/apps/cmd/errors.go", "anew", "errors that scripts of kapp's users read"},
	{"internal/apps/cmd/output_events.go", "as it is", "lines that scripts of kapp's users read"},
	{"internal/apps/ytt/overlay.go", "what is there", "errors that users of kapp's rules read"},
	{"internal/apps/ytt/replace.go", "what is there", "errors that users of kapp's rules read"},
	{"internal/apps/ytt/ytt_test.go", "what is there", "errors that users of kapp's rules read"},
}

// TestEnglish checks the language of Go files and documents in both modules: banned words, comments
// of functions, and the length of lines.
func TestEnglish(t *testing.T) {
	files := strings.Fields(run(t, "git", "-C", "..", "ls-files", "--cached", "--others",
		"--exclude-standard", "*.go", "*.md"))
	if len(files) < 100 {
		t.Fatalf("git lists %d files only", len(files))
	}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join("..", file))
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		} else if err != nil {
			t.Fatal(err)
		}
		for _, finding := range checkEnglish(t, file, string(text)) {
			t.Error(finding)
		}
	}
}

// checkEnglish returns the findings in one file.
func checkEnglish(t *testing.T, file, text string) (found []string) {
	t.Helper()
	raw := map[int]bool{}
	if path.Ext(file) == ".go" {
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		raw = rawLines(set, parsed)
		if !strings.HasSuffix(file, "_test.go") {
			found = checkComments(set, parsed)
		}
	}
	if path.Ext(file) == ".md" && !strings.HasPrefix(file, "docs/reference/") {
		found = checkProse(file, text)
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSuffix(line, "\n")
		n := utf8.RuneCountInString(line)
		if n > maxColumns && path.Ext(file) == ".go" && !raw[number] {
			found = append(found, fmt.Sprintf("%s:%d: %d columns", file, number, n))
		}
		for _, word := range findBanned(line) {
			if !isException(file, word) {
				found = append(found, fmt.Sprintf("%s:%d: banned %q: %s", file, number, word,
					strings.TrimSpace(line)))
			}
		}
	}
	return found
}

// checkProse returns the lines of a document that are too long. A table and a comment have to be on
// one line, and a block of code shows what it shows.
func checkProse(file, text string) (found []string) {
	number, code := 0, false
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		single := strings.HasPrefix(line, "|") || strings.HasPrefix(line, "<!--")
		if n := utf8.RuneCountInString(line); n > maxProse && !code && !single {
			found = append(found, fmt.Sprintf("%s:%d: %d columns", file, number, n))
		}
	}
	return found
}

// rawLines returns the lines of raw strings that span several lines. They hold text as users and
// other programs read it, so that they may be longer.
func rawLines(set *token.FileSet, file *ast.File) map[int]bool {
	lines := map[int]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		first, last := set.Position(literal.Pos()).Line, set.Position(literal.End()).Line
		for line := first; line <= last && last > first; line++ {
			lines[line] = true
		}
		return true
	})
	return lines
}

// findBanned returns the banned words and phrases of a line. Words within identifiers count.
func findBanned(line string) (found []string) {
	words := wordPattern.FindAllString(line, -1)
	for i, word := range words {
		words[i] = strings.ToLower(word)
		if slices.Contains(bannedWords, words[i]) {
			found = append(found, words[i])
		}
	}
	joined := " " + strings.Join(words, " ") + " "
	joined = strings.ReplaceAll(joined, " soon as it is ", " ")
	for _, phrase := range bannedPhrases {
		if strings.Contains(joined, " "+phrase+" ") {
			found = append(found, phrase)
		}
	}
	return found
}

var wordPattern = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)

// checkComments returns the functions whose comment does not begin with their name and a verb.
func checkComments(set *token.FileSet, file *ast.File) (found []string) {
	for _, decl := range file.Decls {
		function, ok := decl.(*ast.FuncDecl)
		if !ok || function.Doc == nil {
			continue
		}
		name, words := function.Name.Name, strings.Fields(function.Doc.Text())
		if len(words) < 2 || words[0] != name || notVerbs.MatchString(words[1]) {
			found = append(found, fmt.Sprintf("%s: the comment does not begin with %q and a verb: %s",
				set.Position(function.Pos()), name, strings.Join(words[:min(8, len(words))], " ")))
		}
	}
	return found
}

// isException reports whether a banned word may stand in a file.
func isException(file, word string) bool {
	for _, e := range exceptions {
		if (e.file == "" || e.file == file) && (e.word == "" || e.word == word) {
			return true
		}
	}
	return false
}

<?php
// Prints the names that the files declare, as PHP's tokenizer reads them: one JSON line per file.
// Counts brackets, so that what is inside functions is left out.
function listNames(string $code): array
{
    $skipped = [T_WHITESPACE, T_COMMENT, T_DOC_COMMENT];
    $tokens = array_values(array_filter(
        PhpToken::tokenize($code, TOKEN_PARSE),
        fn ($token) => !in_array($token->id, $skipped, true),
    ));
    $names = [];
    $stack = [];
    $pending = null;
    for ($at = 0; $at < count($tokens); $at++) {
        $token = $tokens[$at];
        $before = $tokens[$at - 1] ?? null;
        $after = $tokens[$at + 1] ?? null;
        $hidden = array_filter($stack, fn ($one) => $one === 'local') !== [];
        $types = array_filter($stack, fn ($one) => str_starts_with($one, 'type '));
        $prefix = implode('', array_map(fn ($one) => substr($one, 5) . '.', $types));
        $isMember = str_starts_with(end($stack) ?: '', 'type ');
        if (in_array($token->text, ['{', '${', '{$'], true) || $token->id === T_CURLY_OPEN || $token->id === T_DOLLAR_OPEN_CURLY_BRACES) {
            $stack[] = $pending ?? 'block';
            $pending = null;
        } elseif ($token->text === '}') {
            array_pop($stack);
        } elseif ($token->text === ';') {
            $pending = null;
        } elseif ($hidden) {
            continue;
        } elseif ($token->id === T_FUNCTION || $token->id === T_FN) {
            if ($before?->id === T_USE) continue;
            if ($after->text === '&') $after = $tokens[$at + 2];
            if ($after->text !== '(') $names[] = $prefix . $after->text;
            $pending = 'local';
            // Parameters hold promoted properties and defaults.
            for ($depth = 0; $at < count($tokens); $at++) {
                if ($tokens[$at]->text === '(') $depth++;
                if ($tokens[$at]->text === ')' && --$depth === 0) break;
            }
        } elseif (in_array($token->id, [T_CLASS, T_INTERFACE, T_TRAIT, T_ENUM], true) && $before?->id !== T_DOUBLE_COLON) {
            if ($before?->id === T_NEW) {
                $pending = 'local';
            } else {
                $names[] = $prefix . $after->text;
                $pending = "type {$after->text}";
            }
        } elseif ($token->id === T_CASE && $isMember) {
            $names[] = $prefix . $after->text;
        } elseif ($token->id === T_CONST && $before?->id !== T_USE) {
            $depth = 0;
            for ($at++; $tokens[$at]->text !== ';'; $at++) {
                if (in_array($tokens[$at]->text, ['(', '[', '{'], true)) $depth++;
                if (in_array($tokens[$at]->text, [')', ']', '}'], true)) $depth--;
                if ($depth === 0 && $tokens[$at + 1]->text === '=') $names[] = $prefix . $tokens[$at]->text;
            }
        } elseif ($token->id === T_VARIABLE && $isMember) {
            $names[] = $prefix . $token->text;
            $depth = 0;
            for (; $tokens[$at]->text !== ';' && $tokens[$at]->text !== '{'; $at++) {
                if (in_array($tokens[$at]->text, ['(', '['], true)) $depth++;
                if (in_array($tokens[$at]->text, [')', ']'], true)) $depth--;
                if ($depth === 0 && $tokens[$at]->text === ',') $names[] = $prefix . $tokens[$at + 1]->text;
            }
        }
    }
    return $names;
}

foreach (array_slice($argv, 1) as $path) {
    echo json_encode(['path' => $path, 'names' => listNames(file_get_contents($path))]), "\n";
}

#!/usr/bin/env bash
# croner 11.0.1 and cron-parser 5.10.6: the same expression runs at two times on the day that loses an hour, and only one reads `5/15`.
#
# Expected: `30 2 * * *` in Europe/Berlin on 2026-03-29, where 02:00 is followed by 03:00, runs at 03:30 with both; both read `5/15`.
# Seen:  croner runs at 03:00 (01:00Z), cron-parser at 03:30 (01:30Z). croner refuses `5/15` and accepts `0 0 30 2 *`, which never runs;
#        cron-parser does it the other way round. croner alone knows `15W`.
# Consequence here: schedules use one library for what they show and for what they run.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts croner@11.0.1 cron-parser@5.10.6 >/dev/null
cat >run.mjs <<'EOF'
import { Cron } from 'croner'
import { CronExpressionParser } from 'cron-parser'
const attempt = (next) => { try { return String(next()) } catch { return 'refused' } }
const from = new Date('2026-03-28T12:00:00Z')
const timezone = 'Europe/Berlin'
for (const expression of ['30 2 * * *', '5/15 * * * *', '0 0 30 2 *', '0 0 15W * *']) {
  const one = attempt(() => new Cron(expression, { timezone }).nextRun(from)?.toISOString())
  const two = attempt(() => CronExpressionParser.parse(expression, { currentDate: from, tz: timezone }).next().toISOString())
  console.log(`${expression}: croner ${one}, cron-parser ${two}`)
}
EOF
node run.mjs | tee seen
grep -q '^30 2 \* \* \*: croner 2026-03-29T01:00:00.000Z, cron-parser 2026-03-29T01:30:00.000Z$' seen
grep -q '^5/15 .*: croner refused, cron-parser 2026-' seen
grep -q '^0 0 30 2 \*: croner undefined, cron-parser refused$' seen
grep -q '^0 0 15W .*: croner 2026-.*, cron-parser refused$' seen

import { sha256 } from '../../../core/system/index.js'
import { inspectorScript } from './page_script.js'
import { inspectorStyle } from './page_style.js'

/** Content security policy of the page: no other origin is loaded, contacted or allowed to frame it. */
export const inspectorPolicy = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  `script-src 'sha256-${sha256(inspectorScript, 'base64')}'`,
  "connect-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const views = [
  ['live', 'Live'],
  ['tools', 'Tools'],
  ['explain', 'Explain a call'],
  ['plugins', 'Plugins'],
  ['settings', 'Settings'],
  ['sessions', 'Sessions'],
] as const

const toButton = ([id, title]: readonly [string, string]): string =>
  `<button type="button" data-view="${id}">${title}<span class="count" id="count-${id}"></span></button>`

/** The page without data. Its script requests the data with the token from the fragment of its address. */
export const inspectorPage = `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark">
<title>vtcode inspector</title><style>${inspectorStyle}</style></head><body>
<header><h1>vtcode inspector</h1><p id="where" class="dim">…</p>
<output id="state" class="chip">connecting</output></header>
<nav aria-label="Views">${views.map(toButton).join('')}</nav>
<main>
<section id="live" aria-labelledby="h-live"><div class="head"><h2 id="h-live">Live calls</h2>
<label>Session <select id="who"><option value="">all of this workspace</option></select></label>
<label>Filter <input id="live-find" type="search" autocomplete="off"></label>
<label><input type="checkbox" id="calls-only"> calls only</label></div>
<p id="live-none" class="none">No calls yet. New calls appear here, from the logs below
<code>.vtcode/sessions</code>.</p><ol id="rows"></ol></section>
<section id="tools" aria-labelledby="h-tools" hidden><div class="head"><h2 id="h-tools">Tools and their handlers</h2>
<label>Filter <input id="tools-find" type="search" autocomplete="off"></label></div>
<p class="dim">A call goes to overrides, then to the primary, then to fallbacks; each may decline it.</p>
<div id="slots"></div></section>
<section id="explain" aria-labelledby="h-explain" hidden><h2 id="h-explain">How policies judge a call</h2>
<p class="dim">The call is judged and explained, but never made.</p>
<form id="ask"><label>Tool <input id="tool" list="names" autocomplete="off" required spellcheck="false"></label>
<datalist id="names"></datalist>
<label>Mode <select id="mode"><option value="">as here</option><option>plan</option><option>ask</option>
<option>auto</option><option>full-auto</option></select></label>
<label class="wide">Input, as JSON <textarea id="input" rows="6" spellcheck="false">{}</textarea></label>
<button>Explain</button></form><div id="verdict" aria-live="polite"></div></section>
<section id="plugins" aria-labelledby="h-plugins" hidden><h2 id="h-plugins">Plugins, policies and problems</h2>
<div id="faults"></div><div id="folders"></div></section>
<section id="settings" aria-labelledby="h-settings" hidden><div class="head">
<h2 id="h-settings">Settings and their origins</h2>
<label>Filter <input id="settings-find" type="search" autocomplete="off"></label>
<label><input type="checkbox" id="set-only"> only what is set</label></div><div id="values"></div></section>
<section id="sessions" aria-labelledby="h-sessions" hidden><h2 id="h-sessions">Sessions of this workspace</h2>
<div id="list"></div>
<div id="whole" hidden><h3 id="whole-title"></h3>
<iframe id="frame" title="The page of the session"></iframe></div></section>
</main><script>${inspectorScript}</script></body></html>
`

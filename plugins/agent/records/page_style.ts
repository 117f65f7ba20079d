/** The style of the page. Colors have a contrast of at least 4.5 in both schemes; hidden parts are not laid out. */
export const pageStyle = `
:root{color-scheme:light dark;--bg:#fff;--ink:#1c2024;--dim:#5b626b;--line:#d9dde2;--soft:#f5f6f8;--bad:#b42318;
--model:#6d4fc4;
--tool:#1d7a4d;--wait:#c9a227;--link:#1c5fb8}
@media(prefers-color-scheme:dark){:root{--bg:#15181c;--ink:#e6e8eb;--dim:#a3abb5;--line:#343a42;
--soft:#1d2126;--bad:#ff8f85;--model:#a48cf0;--tool:#5cc48e;--wait:#d9b94a;--link:#8ab8f5}}
*{box-sizing:border-box}body{margin:0 auto;max-width:76rem;padding:1rem 1.25rem 6rem;background:var(--bg);
color:var(--ink);
font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.35rem;margin:.2rem 0 0;overflow-wrap:anywhere}header>p{margin:.1rem 0 .9rem}
.good{color:var(--tool)}dd.good,dd.bad{font-weight:600}
.proof{display:flex;flex-wrap:wrap;gap:.4rem;list-style:none;margin:.3rem 0 .8rem;padding:0}
.proof li{border:1px solid var(--line);border-radius:1rem;padding:.05rem .7rem;font-size:.88rem}
.overview{margin:.8rem 0 .4rem}.legend{font-size:.82rem;margin-left:.5rem}
.legend i{display:inline-block;width:.7rem;height:.7rem;border-radius:.15rem;margin:0 .3rem 0 .9rem}
.lane{display:grid;grid-template-columns:9rem 1fr;gap:.8rem;align-items:center;text-decoration:none;
color:inherit;font-size:.85rem;border-radius:.3rem}.lane:hover{background:var(--soft)}.lane .flow{height:.95rem;
margin:.12rem 0}h2{font-size:1.05rem;display:inline;margin:0}
h2.small{font-size:.9rem}h3{font-size:.92rem;display:inline;margin:0}
h4{font-size:.78rem;margin:.6rem 0 .1rem;color:var(--dim)}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(15rem,1fr));gap:.5rem;margin:0 0 .6rem}
.facts div{background:var(--soft);border:1px solid var(--line);border-radius:.5rem;padding:.4rem .7rem}
dt{font-size:.75rem;color:var(--dim)}dd{margin:0;overflow-wrap:anywhere}
pre,code,kbd{font:13px/1.45 ui-monospace,Menlo,Consolas,monospace}
pre{margin:.2rem 0;padding:.5rem .7rem;background:var(--soft);border:1px solid var(--line);border-radius:.4rem;
white-space:pre-wrap;overflow-wrap:anywhere}
kbd{border:1px solid var(--line);border-radius:.25rem;padding:0 .3rem;font-size:12px}.dim{color:var(--dim)}
.bad{color:var(--bad)}a{color:var(--link)}code{overflow-wrap:anywhere}
nav{position:sticky;top:0;z-index:1;background:var(--bg);border-bottom:1px solid var(--line);padding:.5rem 0;
display:flex;flex-wrap:wrap;gap:.6rem;align-items:center}nav[hidden]{display:none}
input,button{font:inherit;color:inherit;background:var(--soft);border:1px solid var(--line);border-radius:.4rem;
padding:.2rem .6rem}button{cursor:pointer}
#found{flex-basis:100%;margin:0;max-height:40vh;overflow:auto;padding-left:2rem}#found:empty{display:none}
#status{flex:1 1 12rem;min-height:1.5em;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
details.turn{contain:content;border:1px solid var(--line);border-radius:.6rem;margin:.9rem 0;padding:.5rem .9rem}
summary{cursor:pointer;border-radius:.3rem}.ask{display:block;color:var(--dim);overflow-wrap:anywhere}
.step,.message{margin:.8rem 0;padding-left:.7rem;border-left:3px solid var(--line);content-visibility:auto;
contain-intrinsic-size:auto 9rem}
.flow{display:block;position:relative;height:.7rem;margin:.3rem 0;background:var(--soft);border-radius:.2rem;
overflow:hidden}.flow i{position:absolute;top:0;bottom:0;border-radius:.15rem;min-width:2px}
.model{background:var(--model)}.tool{background:var(--tool)}.wait{background:var(--wait)}
.tool.failed{background:var(--bad)}
.call{margin:.25rem 0;padding-left:.5rem}.call>summary{overflow-wrap:anywhere}
.reasoning pre{color:var(--dim);font-style:italic}.text pre,.plan pre,.reasoning pre,.message pre{font:inherit}
.text pre,.plan pre{background:none;border:0;padding:.2rem 0}.reasoning pre{font-style:italic}
.here>summary:focus-visible{outline-offset:-2px}
.boundary{border-top:2px dashed var(--wait);padding-top:.3rem}
details:target,.here{background:color-mix(in srgb,var(--link) 9%,var(--bg));
box-shadow:inset 3px 0 0 var(--link);border-radius:.3rem}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
table{border-collapse:collapse;width:100%;table-layout:fixed}
th,td{border:1px solid var(--line);padding:.3rem .5rem;text-align:left;vertical-align:top;
overflow-wrap:anywhere}tr.first td{border:2px solid var(--bad)}
@media(prefers-reduced-motion:no-preference){html{scroll-behavior:auto}}`

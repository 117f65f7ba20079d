/** Styles of the page. Colors have a contrast of at least 4.5 in both schemes. */
export const inspectorStyle = `
:root{color-scheme:light dark;--bg:#fafbfc;--card:#fff;--ink:#1c2024;--dim:#57606a;--line:#dfe3e8;--soft:#f1f3f6;
--bad:#b42318;--bad-soft:#fdecea;--ok:#1a7046;--ok-soft:#e6f4ec;
--warn:#855b00;--warn-soft:#fdf3d7;--run:#5b3fb5;--run-soft:#efeafc;--link:#1c5fb8;--shade:0 1px 2px #1c202414}
@media(prefers-color-scheme:dark){:root{--bg:#121519;--card:#191d22;--ink:#e6e8eb;--dim:#a3abb5;--line:#2d333b;
--soft:#22272e;--bad:#ff9a91;--bad-soft:#3a1d1b;--ok:#6ad09a;--ok-soft:#15301f;
--warn:#e6c45c;--warn-soft:#332a10;--run:#b7a2f5;--run-soft:#271f42;--link:#8ab8f5;--shade:none}}
*{box-sizing:border-box}html{scrollbar-gutter:stable}body{margin:0 auto;max-width:78rem;padding:1.2rem 1.5rem 5rem;
background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
header{display:flex;flex-wrap:wrap;gap:.3rem 1rem;align-items:baseline}h1{font-size:1.2rem;margin:0}#where{margin:0;
flex:1;overflow-wrap:anywhere}
h2{font-size:1.1rem;margin:0}h3{font-size:.95rem;margin:1.1rem 0 .4rem}section>h2{margin-bottom:.4rem}
nav{display:flex;flex-wrap:wrap;gap:.25rem;margin:1rem 0 1.3rem;border-bottom:1px solid var(--line)}
nav button{background:none;border:0;border-bottom:2px solid transparent;border-radius:0;padding:.45rem .8rem;
color:var(--dim);margin-bottom:-1px}
nav button[aria-current]{color:var(--ink);border-bottom-color:var(--run);font-weight:600}
nav button:hover{color:var(--ink)}.count:not(:empty){margin-left:.4rem;font-size:.75rem;font-weight:400;
color:var(--dim)}
.head{display:flex;flex-wrap:wrap;gap:.5rem 1.2rem;align-items:center;margin-bottom:.8rem}.head h2{flex:1 1 14rem}
button,input,select,textarea{font:inherit;color:inherit;background:var(--card);border:1px solid var(--line);
border-radius:.4rem;padding:.25rem .6rem}button{cursor:pointer}input[type=checkbox]{padding:0;
vertical-align:-.1em}
code,pre,textarea,.mono{font:13px/1.45 ui-monospace,Menlo,Consolas,monospace}pre{margin:.2rem 0 .6rem;
padding:.5rem .7rem;background:var(--soft);border-radius:.4rem;white-space:pre-wrap;overflow-wrap:anywhere;
max-height:24rem;overflow:auto}
code{overflow-wrap:anywhere}.dim{color:var(--dim)}.small{font-size:.85rem}.none{color:var(--dim);padding:2.5rem 1rem;
text-align:center;border:1px dashed var(--line);border-radius:.6rem}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
.chip{display:inline-block;border-radius:1rem;padding:.05rem .6rem;font-size:.78rem;background:var(--soft);
color:var(--dim);white-space:nowrap}.chip.ok,.chip.done,.chip.run,.chip.active{background:var(--ok-soft);
color:var(--ok)}
.chip.bad,.chip.failed,.chip.denied,.chip.deny,.chip.refused,.chip.error,.chip.invalid,
.chip.quarantined{background:var(--bad-soft);color:var(--bad)}.chip.running,.chip.first{background:var(--run-soft);
color:var(--run)}
.chip.asking,.chip.ask,.chip.warning,.chip.untrusted,.chip.unlocked{background:var(--warn-soft);color:var(--warn)}
#rows{list-style:none;margin:0;padding:0;border:1px solid var(--line);border-radius:.6rem;background:var(--card);
box-shadow:var(--shade);overflow:hidden}#rows:empty{display:none}
#rows>li{border-top:1px solid var(--line)}#rows>li:first-child{border-top:0}#rows summary,#rows .row{display:grid;
grid-template-columns:5.2rem 5.4rem minmax(8rem,auto) 1fr auto;gap:.7rem;padding:.4rem .9rem;
align-items:baseline;list-style:none}
#rows summary{cursor:pointer}#rows summary:hover{background:var(--soft)}
#rows summary::-webkit-details-marker{display:none}
#rows .chip{justify-self:start}#rows b{overflow-wrap:anywhere}#rows .brief{overflow:hidden;text-overflow:ellipsis;
white-space:nowrap;min-width:0}#rows .facts{font-size:.82rem;color:var(--dim);white-space:nowrap}
#rows .more{padding:.2rem .9rem .7rem 6.8rem}#rows .quiet b,#rows .quiet .brief{color:var(--dim);font-weight:400}
time{font-variant-numeric:tabular-nums;font-size:.82rem;color:var(--dim)}
h4{font-size:.78rem;margin:.5rem 0 .1rem;color:var(--dim);font-weight:600}
.card{background:var(--card);border:1px solid var(--line);border-radius:.6rem;box-shadow:var(--shade);margin:.5rem 0;
padding:.5rem .9rem}.card>summary{cursor:pointer;display:flex;flex-wrap:wrap;gap:.3rem .7rem;
align-items:baseline}
.card>summary b{min-width:15rem}.card>summary .by{margin-left:auto}.card p{margin:.5rem 0}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;background:var(--card);font-size:.9rem}
th,td{border-bottom:1px solid var(--line);padding:.35rem .6rem;text-align:left;vertical-align:top;
overflow-wrap:break-word}th{color:var(--dim);font-weight:600;font-size:.8rem;white-space:nowrap}
td code{overflow-wrap:break-word}td.file{color:var(--dim);font-size:.82rem;overflow-wrap:anywhere;min-width:9rem}
td pre,td>code{max-width:30rem}td:has(>code){overflow-wrap:anywhere;min-width:9rem}
form{display:grid;grid-template-columns:1fr 14rem;gap:.7rem 1rem;align-items:end;max-width:52rem}
form label{display:grid;gap:.2rem;font-size:.85rem;color:var(--dim)}
form input,form select,form textarea{color:var(--ink);font-size:14px}form input,form select{height:2.1rem}
.wide{grid-column:1/-1}
form button{justify-self:start;background:var(--run);border-color:var(--run);color:var(--bg);padding:.35rem 1.2rem;
font-weight:600}
#verdict .card{border-left:4px solid var(--line);margin-top:1.2rem;padding:.8rem 1.1rem}
#verdict .card.run{border-left-color:var(--ok)}#verdict .card.ask{border-left-color:var(--warn)}
#verdict .card.deny,#verdict .card.refused{border-left-color:var(--bad)}
#verdict .chip{font-size:.95rem;padding:.1rem .9rem}#frame{width:100%;height:75vh;border:1px solid var(--line);
border-radius:.6rem;background:var(--card)}
@media(max-width:48rem){#rows summary,#rows .row{grid-template-columns:4.6rem 5rem 1fr;}
#rows .brief,#rows .facts{grid-column:1/-1;white-space:normal}form{grid-template-columns:1fr}
#rows .more{padding-left:.9rem}}`

/** Script of the page. It shows all data as text, never as HTML. */
export const inspectorScript = `'use strict';
const $=id=>document.getElementById(id);let token=location.hash.slice(1);
if(token.length>=40){sessionStorage.setItem('token',token);history.replaceState(null,'',
location.pathname)}else token=sessionStorage.getItem('token')||'';
const h=(tag,about,...children)=>{const el=document.createElement(tag);
for(const[k,v]of Object.entries(about||{}))if(k==='on')el.addEventListener(...v);else if(k in el)el[k]=v;
else el.setAttribute(k,v);
el.append(...children.filter(c=>c!==undefined&&c!==null));return el};
const show=v=>typeof v==='string'?v:JSON.stringify(v),chip=(text,kind)=>h('span',{className:'chip '+(kind||text)},text);
async function get(path,body){const r=await fetch(path,{headers:{authorization:'Bearer '+token,
...(body&&{'content-type':'application/json'})},...(body&&{method:'POST',body:JSON.stringify(body)})});
if(r.status===401)throw Error('Open the address that the terminal printed; this page has no token.');return r}
const state=(text,kind)=>{$('state').textContent=text;$('state').className='chip '+kind};
let facts,view='live';const views=[...document.querySelectorAll('main>section')].map(s=>s.id);
function go(id){view=id;for(const v of views)$(v).hidden=v!==id;
for(const b of document.querySelectorAll('[data-view]'))b.dataset.view===id?b.setAttribute('aria-current',
'page'):b.removeAttribute('aria-current');
if(id==='sessions')sessions();else if(id!=='live'&&id!=='explain')load()}
for(const b of document.querySelectorAll('[data-view]'))b.addEventListener('click',()=>go(b.dataset.view));
const table=(heads,rows)=>h('div',{className:'scroll',tabIndex:0,role:'region',ariaLabel:heads.join(', ')},h('table',{},
h('thead',{},h('tr',{},...heads.map(t=>h('th',{scope:'col'},t)))),h('tbody',{},
...rows.map(r=>h('tr',{},...r.map(c=>c instanceof Node&&c.tagName==='TD'?c:h('td',{},c)))))));
const rows=new Map(),list=$('rows');let listening;
const clock=at=>at?new Date(at).toLocaleTimeString([],{hour12:false}):'';
function draw(r){const old=r.el,quiet=r.kind!=='call';const line=[h('time',{dateTime:r.at||''},clock(r.at)),
r.state&&!(quiet&&r.state==='done')?chip(r.state):h('span'),h('b',{},r.name||''),h('code',{
className:'brief'},r.brief||''),h('span',{className:'facts'},[...new Set(r.facts||[])].join(' · '))];
const el=h('li',{className:quiet?'quiet':''});
if(r.parts&&r.parts.length){const d=h('details',{open:!!(old&&old.querySelector('details')?.open)},h('summary',{},
...line));const fill=()=>{if(d.open&&d.children.length===1)d.append(h('div',{className:'more'},
h('p',{className:'dim small'},r.session),...r.parts.flatMap(([t,x])=>[h('h4',{},t),h('pre',{tabIndex:0},x)])))};
d.addEventListener('toggle',fill);fill();el.append(d)}else el.append(h('div',{className:'row'},
...line));
el.at=r.at||'';el.hidden=!fits(r);r.el=el;return[el,old]}
const fits=r=>{const q=$('live-find').value.trim().toLowerCase();
return!($('calls-only').checked&&r.kind!=='call')&&(!q||[r.name,r.brief,r.state,
...(r.facts||[])].join(' ').toLowerCase().includes(q))};
function add(batch){const fresh=[],changed=new Set();for(const n of batch){const r=rows.get(n.key);
if(r){const{at,parts,facts,...rest}=n;Object.assign(r,rest);if(facts)r.facts=[...(r.facts||[]),...facts];
if(parts)r.parts=[...(r.parts||[]),...parts];changed.add(r)}
else{rows.set(n.key,n);fresh.push(n);if(!who.has(n.session))named(n.session,n.session)}}
for(const r of changed)if(r.el){const[el,old]=draw(r);old.replaceWith(el)}
fresh.sort((a,b)=>(a.at||'')<(b.at||'')?-1:1);for(const r of fresh.slice(-1000)){const[el]=draw(r);
let c=list.firstChild;while(c&&c.at>el.at)c=c.nextSibling;list.insertBefore(el,c)}
while(list.childElementCount>1000)list.lastChild.remove();if(rows.size>5000)for(const k of [...rows.keys()].slice(0,
2000))rows.delete(k);
$('live-none').hidden=rows.size>0;let calls=0;for(const r of rows.values())if(r.kind==='call')calls++;
$('count-live').textContent=calls||''}
const who=new Set();function named(id,text){if(!who.has(id)){who.add(id);$('who').append(h('option',{value:id},text))}}
async function listen(){listening?.abort();const mine=listening=new AbortController();rows.clear();
list.replaceChildren();$('live-none').hidden=false;
for(let wait=500;!mine.signal.aborted;wait=Math.min(8000,wait*2)){try{const s=$('who').value;
const r=await fetch('/api/live'+(s?'?session='+encodeURIComponent(s):''),{headers:{authorization:'Bearer '+token},
signal:mine.signal});
if(r.status===401){state('no token','bad');return}if(!r.ok)throw Error((await r.json()).error);rows.clear();
list.replaceChildren();state('live','ok');wait=500;let text='';
for(const reader=r.body.pipeThrough(new TextDecoderStream()).getReader();;){const{done,value}=await reader.read();
if(done)break;text+=value;let end;
while((end=text.indexOf('\\n\\n'))>=0){const m=text.slice(0,end);text=text.slice(end+2);
if(m.startsWith('data: '))add(JSON.parse(m.slice(6)))}}}
catch(e){if(mine.signal.aborted)return}state('the inspector has closed','bad');
await new Promise(r=>setTimeout(r,wait))}}
for(const id of['live-find','calls-only'])$(id).addEventListener('input',
()=>{for(const r of rows.values())if(r.el)r.el.hidden=!fits(r)});
$('who').addEventListener('change',listen);
function slot(s){const first=s.servers.find(x=>x.place===1);const d=h('details',{className:'card'},h('summary',{},h('b',
{className:'mono'},s.slot),...s.effects.map(e=>chip(e,'')),
s.listed?undefined:chip('not listed','warning'),
h('span',{className:'by dim small'},
first?(s.servers.length>1?s.servers.filter(x=>x.place).length+' handlers, first ':'')+first.id:'no handler')));
d.addEventListener('toggle',()=>{if(!d.open||d.children.length>1)return;
d.append(h('p',{},s.description),table(['Order','Handler','Stage','Layer','State','Why','File'],
s.servers.map(x=>[x.place?String(x.place):'–',
h('code',{},x.id),x.stage,x.layer,chip(x.state),x.why,h('td',{className:'file'},x.file)])),
h('p',{className:'dim small'},
(s.audience?'Audience: '+s.audience+'. ':'')+(s.aliases.length?'Other names: '+s.aliases.join(', '):'')),h('details',{},
h('summary',{className:'small'},'Input schema'),h('pre',{
tabIndex:0},JSON.stringify(s.input,null,1))),
h('p',{},h('button',{type:'button',on:['click',()=>{$('tool').value=s.slot;
$('input').value=JSON.stringify(s.example&&typeof s.example==='object'?s.example:{},null,2);go('explain');
$('tool').focus()}]},
'Explain a call')))});return d}
function tools(){const q=$('tools-find').value.trim().toLowerCase();
$('slots').replaceChildren(...facts.slots.filter(s=>!q||(s.slot+' '+s.description+' '+s.servers.map(
x=>x.id+' '+x.layer+' '+x.state).join(' ')).toLowerCase().includes(q)).map(slot))}
const fault=d=>[chip(d.severity),h('code',{},d.code),h('td',{},h('div',{},d.message),d.hint?h('div',
{className:'dim small'},d.hint):''),h('td',{className:'file'},d.files.join(' '))];
function plugins(){$('faults').replaceChildren(facts.diagnostics.length?table(['','Code','Problem and fix','File'],
facts.diagnostics.map(fault)):h('p',{className:'dim'},'No problems.'));
$('folders').replaceChildren(h('h3',{},'Plugins'),...(facts.plugins.length?facts.plugins.map(p=>h('details',
{className:'card',open:p.diagnostics.length>0||facts.plugins.length<4},h('summary',{},h('b',{},p.name),
chip(p.format,''),chip(p.layer,''),p.diagnostics.length?chip(p.diagnostics.length+' to check','warning'):undefined,
h('span',{className:'by dim small'},p.root)),
p.parts.length?table(['Part','Kind','Slot','State','Why'],p.parts.map(x=>[h('code',{},x.id),x.kind,x.slot||'',
chip(x.state),x.reason||''])):h('p',{className:'dim'},'This plugin adds nothing that runs here.'),
...(p.diagnostics.length?[table(['','Code','Problem and fix','File'],p.diagnostics.map(fault))]:[]))):[h('p',
{className:'dim'},'Only built-in plugins are loaded.')]),
...(facts.servers.length?[h('h3',{},'MCP servers'),table(['Server','Tools','State'],facts.servers.map(s=>[h('code',{},
s.name),String(s.tools),chip(s.state)]))]:[]),
h('h3',{},'Policies and compactors'),table(['Name','Kind','Layer','State','Description'],
facts.policies.map(p=>[h('code',{},p.id),p.kind,p.layer,chip(p.state),p.description])))}
function settings(){const q=$('settings-find').value.trim().toLowerCase(),set=$('set-only').checked;
const shown=facts.settings.filter(s=>(!set||s.layer!=='builtin')&&
(!q||(s.path+' '+show(s.value)).toLowerCase().includes(q)));
$('values').replaceChildren(shown.length?table(['Key','Value','Layer','Where'],shown.map(s=>[h('code',{},s.path),h('td',
{},h('code',{},show(s.value)),...s.overridden.map(o=>h('div',{className:'dim small'},
'over '+show(o.value)+' of '+o.layer+(o.file===o.layer?'':', '+o.file)))),chip(s.layer,s.layer==='builtin'?'':'first'),
h('td',{className:'file'},s.file+(s.line?':'+s.line:''))])):h('p',{className:'none'},
set?'No key is set; every value is the default.':'No setting matches.'))}
async function load(){try{facts=await(await get('/api/facts')).json();
$('where').textContent=facts.workspace+' · mode '+facts.mode;$('count-tools').textContent=facts.slots.length;
$('count-plugins').textContent=facts.plugins.length||'';
if(!$('names').childElementCount)$('names').append(...facts.slots.map(s=>h('option',{value:s.slot})));tools();plugins();
settings()}catch(e){state(e.message,
'bad')}}
$('tools-find').addEventListener('input',tools);for(const id of['settings-find',
'set-only'])$(id).addEventListener('input',settings);
$('ask').addEventListener('submit',async e=>{e.preventDefault();const out=$('verdict');let input;
try{input=JSON.parse($('input').value||'{}')}catch(x){out.replaceChildren(h('p',{className:'chip bad'},
'Invalid JSON: '+x.message));return}
try{const r=await(await get('/api/explain',{tool:$('tool').value,input,
...($('mode').value&&{mode:$('mode').value})})).json();if(r.error)throw Error(r.error);
out.replaceChildren(h('div',{className:'card '+r.verdict},h('p',{},chip(({run:'would run',ask:'would ask a person',
deny:'denied',refused:'refused'})[r.verdict],r.verdict),' in mode ',h('b',{},r.mode),
r.decided_by?h('span',{},', decided by ',h('code',{},r.decided_by)):''),
r.reason?h('p',{},r.reason):undefined,r.hint?h('p',{className:'dim'},r.hint):undefined,...(r.call?[h('h4',{},
'The call that would run: '+r.call.slot+(r.call.alias?', called as '+r.call.alias:'')+
(r.call.effects.length?' ('+r.call.effects.join(', ')+')':'')),h('pre',{tabIndex:0},JSON.stringify(r.call.input,null,
1))]:[]),
...(r.would?[h('h4',{},'It would start or send'),h('pre',{tabIndex:0},JSON.stringify(r.would,null,1))]:[]),
...(r.chain.length?[h('h4',{},'Policies, in order'),table(['Policy',
'Verdict','Reason','Notes'],r.chain.map(c=>[h('code',{},c.policy),chip(c.verdict,c.verdict==='none'?'':c.verdict),
c.reason||'',c.notes.length?h('code',{},JSON.stringify(c.notes)):'']))]:[])))}
catch(x){out.replaceChildren(h('p',{className:'chip bad'},x.message))}});
async function sessions(){try{const{sessions:all}=await(await get('/api/sessions')).json();
$('list').replaceChildren(all.length?table(['Session','Task','State','Turns','Cost','Last','' ],all.map(s=>[h('code',{},
s.session_id),(s.title||s.first_prompt||'').slice(0,120),chip(s.outcome||s.status,
s.status==='completed'?'ok':s.status==='active'?'running':''),String(s.turn_count),
s.total_cost_usd==null?'–':s.total_cost_usd.toFixed(4)+' USD',clock(s.updated_at),
h('td',{},h('button',{type:'button',on:['click',()=>whole(s.session_id)]},'Page'),' ',h('button',{type:'button',
on:['click',()=>{named(s.session_id,s.session_id);$('who').value=s.session_id;go('live');listen()}]},
'Live'))])):h('p',{className:'none'},'No agent session here yet.'));
$('count-sessions').textContent=all.length||''}catch(e){state(e.message,'bad')}}
async function whole(id){const{ticket}=await(await get('/api/ticket?session='+encodeURIComponent(id))).json();
$('whole').hidden=false;$('whole-title').textContent=id;$('frame').src='/trace?ticket='+ticket;
$('whole').scrollIntoView()}
go('live');if(!token){state('Open the address that the terminal printed; this page has no token.',
'bad')}else load().then(()=>{if(facts?.session){named(facts.session,facts.session);$('who').value=facts.session}
listen();sessions()});`

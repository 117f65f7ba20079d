/** The script of the page. It searches the index only and touches just the target elements of the document. */
export const pageScript = `'use strict';
const $=id=>document.getElementById(id),rows=JSON.parse($('index').textContent),
words=rows.map(r=>r[1].toLowerCase());let at=-1,here;
const find=$('find'),found=$('found'),note=$('status');$('bar').hidden=false;
function jump(i){const r=rows[i],el=r&&$(r[0]);if(!el)return;at=i;
for(let p=el;p;p=p.parentElement)if(p.tagName==='DETAILS'&&!p.open)p.open=true;
here?.classList.remove('here');here=el;el.classList.add('here');
const to=el.tagName==='DETAILS'?el.querySelector('summary'):el;el.scrollIntoView({block:'center'});to.focus({
preventScroll:true});
history.replaceState(null,'','#'+r[0]);note.textContent=r[1].slice(0,80)}
function next(flag,from){for(let i=from;i<rows.length;i++)if(rows[i][2].includes(flag))return i;return -1}
function go(key){if(key==='j')return jump(Math.min(rows.length-1,at+1));if(key==='k')return jump(Math.max(0,at-1));
let i=key==='e'?next('e',0):next(key==='E'?'e':key,at+1);if(i<0)i=next(key==='E'?'e':key,0);
if(i<0)note.textContent=key==='d'?'Nothing was denied.':key==='c'?'No file was changed.':'There is no error.';
else jump(i)}
document.addEventListener('keydown',e=>{if(e.ctrlKey||e.metaKey||e.altKey)return;
if(e.target===find){if(e.key==='Escape'){find.value='';show();find.blur()}return}
if(e.key==='/'){e.preventDefault();find.focus()}else if('jkecdE'.includes(e.key)&&e.key.length===1)go(e.key)});
for(const b of document.querySelectorAll('[data-go]'))b.addEventListener('click',()=>go(b.dataset.go));
function show(){const q=find.value.trim().toLowerCase();found.replaceChildren();if(!q){note.textContent='';return}
let n=0;for(let i=0;i<words.length;i++)if(words[i].includes(q)){if(n++<100){
const li=document.createElement('li'),a=document.createElement('a');a.href='#'+rows[i][0];
a.textContent=rows[i][1].slice(0,120);
a.addEventListener('click',e=>{e.preventDefault();jump(i)});li.append(a);found.append(li)}}
note.textContent=n+(n===1?' match':' matches')+(n>100?', the first 100 are listed':'')}
find.addEventListener('input',show);
function link(){const id=decodeURIComponent(location.hash.slice(1)),i=rows.findIndex(r=>r[0]===id);if(i>=0)jump(i)}
addEventListener('hashchange',link);link();`

import { createKernel } from 'vtcode'
const workspace='/tmp/vtcode-bench-tree-2-'+process.argv[2]
const kernel = await createKernel({ workspace, mode: 'full-auto', config: { tools: { max_repeated_tool_calls: 0 } } })
const input=JSON.parse(process.argv[3]); const n=Number(process.argv[4]??5)
for(let i=0;i<n;i++){const c=process.cpuUsage();const t=performance.now();const r=await kernel.call('unified_search',input,{session:'b'});const d=process.cpuUsage(c);console.log(r.ok, r.output?.total??r.output?.total_matches, (performance.now()-t).toFixed(0),'cpu',((d.user+d.system)/1000).toFixed(0),d.user/1000|0,d.system/1000|0)}
await kernel.close()

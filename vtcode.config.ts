import { defineConfig } from 'vtcode'

// What our own scripts run with (`--config vtcode.config.ts`). The built-in manifests are merely the first entry: put the path of
// a folder of yours behind it and its plugins stand beside ours.
export default defineConfig({
  manifests: ['builtin'],
  policy: { mode: 'auto' },
})

// The site of the documents, from the pages of the repository. `npm run site` builds it; a dead link ends the build.
import { cpSync, readFileSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'

const root = new URL('../../', import.meta.url)
// Vite resolves packages from the folder of a page, so the pages are copied below the folder that has them.
const pages = fileURLToPath(new URL('../pages/', import.meta.url))
rmSync(pages, { recursive: true, force: true })
for (const name of ['README.md', 'CHANGELOG.md', 'docs', 'manifests/README.md', 'skills/plugin-author/references'])
  cpSync(new URL(name, root), `${pages}${name}`, { recursive: true })

/** The sections of docs/README.md with their pages. */
const sidebar = readFileSync(`${pages}docs/README.md`, 'utf8')
  .split(/^## /m)
  .slice(1)
  .map((section) => ({
    text: section.split('\n', 1)[0],
    items: [...section.matchAll(/^- \[(.+)\]\((.+)\)$/gm)].map(([, text, link]) => ({
      text,
      link: new URL(link, 'https://site/docs/').pathname.replace(/(?:README)?\.md$/, ''),
    })),
  }))

export default defineConfig({
  title: 'vtcode',
  description: JSON.parse(readFileSync(new URL('package.json', root), 'utf8')).description,
  srcDir: 'pages',
  outDir: '../build/site',
  cacheDir: '../build/site_cache',
  rewrites: {
    'README.md': 'index.md',
    'docs/README.md': 'docs/index.md',
    'manifests/README.md': 'manifests/index.md',
  },
  // Schemas, to which pages link, are no pages.
  ignoreDeadLinks: [/\.json$/],
  markdown: {
    // The pages contain words such as <id> and {{name}}, and comments that their tests read. They contain no HTML.
    html: false,
    config: (markdown) => {
      markdown.core.ruler.after('normalize', 'comments', (state) => {
        state.src = state.src.replace(/^<!--.*?-->$/gm, '')
      })
      const render = markdown.render.bind(markdown)
      markdown.render = (...args) => render(...args).replaceAll('{{', '&#123;&#123;')
    },
  },
  themeConfig: { sidebar, search: { provider: 'local' } },
})

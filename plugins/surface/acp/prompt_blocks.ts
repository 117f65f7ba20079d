import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ContentBlock } from '@agentclientprotocol/sdk'
import type { Task } from '../../agent/index.js'
import { isInside } from '../../../core/system/index.js'
import { fenceBlock } from '../../lib/terminal/index.js'
import { invalidParams } from './errors.js'

type Image = Exclude<NonNullable<Task['images']>[number], string>

/** Converts the blocks of a prompt to a task. Throws invalid params for a block that a model cannot get. */
export function toTask(blocks: readonly ContentBlock[], workspace: string): { text: string; images: Image[] } {
  const images: Image[] = []
  const texts = blocks.map((block, at) => {
    switch (block.type) {
      case 'text':
        return block.text
      case 'resource_link':
        return `[${block.name}](${toPath(block.uri, workspace)})`
      case 'image':
        images.push(decodeImage(block.data, block.mimeType, `prompt[${at}]`))
        return ''
      case 'resource': {
        const { resource } = block
        if ('text' in resource) return `${toPath(resource.uri, workspace)}:\n${fenceBlock('', resource.text)}`
        images.push(decodeImage(resource.blob, resource.mimeType ?? '', `prompt[${at}].resource`))
        return ''
      }
      default:
        throw invalidParams(`prompt[${at}].type`, 'must be text, resource_link, resource or image.')
    }
  })
  const text = texts.filter((one) => one !== '').join('\n')
  if (text.trim() === '' && images.length === 0) throw invalidParams('prompt', 'is empty; send a text or an image.')
  return { text, images }
}

/** Returns the path of a `file:` address, relative inside the workspace; other addresses stay unchanged. */
function toPath(uri: string, workspace: string): string {
  if (!uri.startsWith('file:')) return uri
  try {
    const path = fileURLToPath(uri)
    return isInside(workspace, path) ? relative(workspace, path) || path : path
  } catch {
    return uri
  }
}

function decodeImage(data: string, mimeType: string, field: string): Image {
  const [, form] = /^image\/(png|jpeg|gif|webp)$/.exec(mimeType) ?? []
  if (form === undefined)
    throw invalidParams(`${field}.mimeType`, 'must be image/png, image/jpeg, image/gif or image/webp.')
  const bytes = Buffer.from(data, 'base64')
  if (bytes.length === 0) throw invalidParams(`${field}.data`, 'must be an image in base64.')
  return { name: `image.${form}`, data: bytes }
}

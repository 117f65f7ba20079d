/** A page as Markdown or plain text. */
export interface PageReading {
  title?: string
  markdown: string
  links: { text: string; url: string }[]
  /** False for plain text. */
  structured: boolean
}

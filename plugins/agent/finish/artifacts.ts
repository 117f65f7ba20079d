import { sha256 } from '../../../core/system/index.js'
import { redactText } from '../../../core/text/index.js'
import type { ArtifactName, FactOf } from '../base/index.js'
import type { Conversation } from '../session/index.js'
import { type FinishState, artifactFiles, taskFolder, TaskView } from '../task/index.js'

type Viewed = keyof typeof artifactFiles

/** Stores a text next to the conversation and writes its digest to the journal. */
export async function keepArtifact(
  thread: Pick<Conversation, 'store' | 'commit'>,
  artifact: Omit<FactOf<'artifact'>, 'kind' | 'sha256'>,
  text: string,
): Promise<void> {
  await thread.commit({ kind: 'artifact', ...artifact, sha256: await keepPrompt(thread, text) })
}
/** Stores a text and returns its digest, the key to read it again. */
export async function keepPrompt({ store }: Pick<Conversation, 'store'>, text: string): Promise<string> {
  const digest = sha256(text)
  await store.write(`prompts/${digest}`, text)
  return digest
}

/** The texts of a task: kept with the session, recorded by digest in the journal, and shown as files. */
export class Artifacts {
  private readonly views: ReadonlyMap<Viewed, TaskView>
  /** Digests of the texts in the files. */
  private readonly shown = new Map<Viewed, string>()
  private readonly remarked = new Set<string>()

  constructor(private readonly thread: Conversation & { readonly state: Conversation['state'] & FinishState }) {
    this.views = new Map(
      (Object.keys(artifactFiles) as Viewed[]).map((name) => [
        name,
        new TaskView(thread.workspace, thread.session_id, artifactFiles[name]),
      ]),
    )
  }

  async keep(name: ArtifactName, text: string, round: number): Promise<void> {
    await keepArtifact(this.thread, { name, round }, redactText(text))
  }
  async text(name: ArtifactName): Promise<string | undefined> {
    const artifact = this.thread.state.artifacts[name]
    return artifact && this.thread.store.read(`prompts/${artifact.sha256}`)
  }

  /** Takes over the edits of a person to spec or contract since the last turn. */
  async readBack(round: number): Promise<void> {
    const { artifacts } = this.thread.state
    for (const name of ['spec', 'contract'] as const) {
      const edit = artifacts[name] && (await this.views.get(name)!.readEdit())
      if (!edit) continue
      if ('problem' in edit) await this.remark(edit.problem)
      else await this.keep(name, edit.text, round)
    }
    await this.show()
  }

  /** Writes the current texts to the files; an unchanged file is not written. */
  async show(): Promise<void> {
    for (const [name, view] of this.views) {
      const digest = this.thread.state.artifacts[name]?.sha256
      const text = digest === undefined || this.shown.get(name) === digest ? undefined : await this.text(name)
      if (digest === undefined || text === undefined) continue
      const inTheWay = await view.write(text).catch((error: unknown) => (error as Error).message)
      if (inTheWay === undefined) this.shown.set(name, digest)
      else await this.remark(`It cannot be written: ${inTheWay}`)
    }
  }

  /** Keeps the replies of a round for people to read. */
  async keepRound(round: number, name: string, value: unknown): Promise<void> {
    const { workspace, session_id } = this.thread
    const path = `${taskFolder}/rounds/${session_id}/${round}/${name}`
    try {
      if (workspace.resolve(path, { follow: false }) !== path) return
      await workspace.write(
        path,
        Buffer.from(redactText(typeof value === 'string' ? value : `${JSON.stringify(value, null, 2)}\n`)),
        'anything',
      )
    } catch (error) {
      await this.remark(`${path} cannot be written: ${(error as Error).message}`)
    }
  }

  private async remark(problem: string): Promise<void> {
    if (this.remarked.has(problem)) return
    this.remarked.add(problem)
    await this.thread.remark('VT_TASK_FILE', problem)
  }
}

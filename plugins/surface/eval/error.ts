/** A wrong input of `vtcode eval`, with the next step. */
export class EvalError extends Error {
  constructor(
    message: string,
    readonly hint: string,
  ) {
    super(message)
  }
}

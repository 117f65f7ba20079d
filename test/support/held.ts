/** Resources that end with the running test, last first. */
const ofTest: AsyncDisposable[] = []
/** Resources that end with the test file, last first. */
const ofFile: AsyncDisposable[] = []

/** Ends `one` with the running test. */
export function hold<T extends AsyncDisposable>(one: T): T {
  ofTest.push(one)
  return one
}
/** Ends `one` with the test file. */
export function holdForFile<T extends AsyncDisposable>(one: T): T {
  ofFile.push(one)
  return one
}

export const endTest = (): Promise<void> => endAll(ofTest)
export const endFile = (): Promise<void> => endAll(ofFile)

async function endAll(list: AsyncDisposable[]): Promise<void> {
  for (const one of list.splice(0).reverse()) await one[Symbol.asyncDispose]()
}

import type { Contribution } from './types.js'

export const runsCode = ({ manifest }: Contribution): boolean => ['module', 'run', 'http', 'mcp', 'alias'].some((key) => key in manifest)
export const openTrust = (_: object) => ({ trusts: async (_: Contribution): Promise<boolean> => false })

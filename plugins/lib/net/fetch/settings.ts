/** The block `web` of the settings. */
export interface WebSettings {
  enabled: boolean
  /** When given, only these hosts. */
  allow_hosts?: readonly string[]
  deny_hosts: readonly string[]
  /** Exempt from the rule of public addresses: host names, addresses, CIDR or `*`. */
  private_hosts: readonly string[]
  fetch: { max_bytes: number; timeout_secs: number; max_redirects: number }
  search: { provider: string; max_results: number; max_calls_per_session: number; min_interval_secs: number }
  defuddle: { enabled: boolean; max_bytes: number; max_calls_per_session: number; base_url?: string }
  proxy?: string
  user_agent?: string
}

// Generated from manifests/schema/config.1.json by `npm run docs`. Change that, not this.

/** The settings of all layers with their defaults. */
export type Settings = {
  /** For editors. */
  $schema?: string
  /** Version of this schema. Default: `1`. */
  version: 1
  /** Sources of manifests, in addition to the plugin folders. Default: `["builtin"]`. */
  manifests: (
    | string
    | {
        /** builtin, a path relative to this file, ~/path or npm:package. */
        from: string
        /** Contribution ids to take; * allowed. */
        only?: string[]
        /** Contribution ids to leave out. */
        except?: string[]
        /** Refuse the whole generation if a part of it cannot be loaded. Default: `false`. */
        required?: boolean
        isolate?: 'process' | 'inline'
        /** Values for the options of the plugin. */
        options?: { [name: string]: unknown }
      }
  )[]
  /** Slot to the contributions that serve it; builtin, or false for none. */
  use: { [name: string]: string | string[] | false }
  plugins: {
    /** Default: `true`. */
    enabled: boolean
    /** Contribution ids that stay off; * allowed. A workspace can turn off tools only. */
    disable: string[]
    /** Plugins of the workspace. Default: `trusted`. */
    workspace: 'off' | 'trusted'
    /** Default: `auto`. */
    isolate: 'process' | 'auto' | 'inline'
    /** Default: `10`. */
    import_timeout_secs: number
    /** Default: `512`. */
    max_memory_mb: number
    /** Default: `3`. */
    quarantine_after: number
    /** Default: `false`. */
    watch: boolean
    /** Sources of `vtcode plugins search`: https address, git repository, absolute path, npm or npm scope. */
    indexes: string[]
    /** Plugin or contribution id to its settings. */
    settings: {
      [name: string]: {
        options?: { [name: string]: unknown }
        isolate?: 'process' | 'inline'
        timeout_secs?: number
        env?: { [name: string]: ConfigValue }
      }
    }
  }
  /** <plugin>:<key> to the source of the secret. */
  secrets: { [name: string]: ConfigValue }
  skills: {
    roots: string[]
    pin: string[]
    /** Default: `8000`. */
    catalog_max_chars: number
    /** Default: `true`. */
    claude_folders: boolean
    /** Default: `on`. */
    workspace: 'off' | 'trusted' | 'on'
    disable: string[]
    /** Default: `true`. */
    bundled: boolean
  }
  policy: {
    /** Extent to which calls run without a question. Default: `ask`. */
    mode: 'plan' | 'ask' | 'auto' | 'full-auto'
    /** The loosest mode that a caller can use. Default: `full-auto`. */
    max_mode: 'plan' | 'ask' | 'auto' | 'full-auto'
    deny: ConfigRule[]
    ask: ConfigRule[]
    /** Slot to caps and defaults of its input. */
    constraints: {
      [name: string]: {
        allowed_modes?: string[]
        max_results_per_call?: number
        max_items_per_call?: number
        max_bytes_per_read?: number
        max_response_bytes?: number
        /** For all callers together; further calls are refused until the minute has passed. */
        max_calls_per_minute?: number
        default_response_format?: 'concise' | 'detailed'
        allowed_url_schemes?: string[]
        denied_url_hosts?: string[]
      }
    }
    allow: ConfigRule[]
    /**
     * Commands that no rule covers: ask, or run them without a question in the sandbox, with a checkpoint before. There
     * they have no network and can write only the workspace. Default: `ask`.
     */
    sandboxed_commands: 'ask' | 'allow'
    commands: {
      id: string
      program: string
      subcommands?: string[]
      flags?: {
        allow?: string[]
        deny?: string[]
        /** Default: `false`. */
        any?: boolean
      }
      positional?: {
        kind?: 'any' | 'none' | 'paths'
        max?: number
        /** Default: `false`. */
        dynamic?: boolean
      }
      verdict: 'deny' | 'ask' | 'allow'
      reason?: string
      match?: string[]
      not_match?: string[]
    }[]
  }
  /** Lifecycle event to its hooks. */
  hooks: Open<
    | 'PreToolUse'
    | 'PermissionRequest'
    | 'PostToolUse'
    | 'PostToolUseFailure'
    | 'Notification'
    | 'SessionStart'
    | 'SessionEnd'
    | 'UserPromptSubmit'
    | 'Stop'
    | 'SubagentStart'
    | 'SubagentStop'
    | 'PreCompact'
    | 'PostCompact'
    | 'BeforeTool'
    | 'AfterTool'
    | 'BeforeAgent'
    | 'AfterAgent'
    | 'PreCompress',
    {
      matcher?: string
      /** Program whose names of tools and inputs the hooks get. Default: `unified`. */
      dialect?: 'unified' | 'claude' | 'gemini'
      hooks?: {
        type?: string
        command?: string
        args?: string[]
        url?: string
        headers?: { [name: string]: string }
        allowedEnvVars?: string[]
        if?: string
        /** Seconds; milliseconds for the dialect gemini. At most 600 s. */
        timeout?: number
        timeout_secs?: number
        on_error?: 'deny' | 'ask' | 'allow'
        onError?: 'deny' | 'ask' | 'allow'
        async?: boolean
        [name: string]: unknown
      }[]
      [name: string]: unknown
    }[]
  >
  mcp: {
    /** Default: `true`. */
    enabled: boolean
    allow: string[]
    deny: string[]
    /** Accept only what allow names. Default: `false`. */
    enforce_allow: boolean
    /** Default: `16`. */
    max_connections: number
    /** Time for the answer to a request that is no tool call, such as for the list of tools. Default: `30`. */
    request_timeout_secs: number
    /** Default: `1048576`. */
    max_argument_bytes: number
    servers: {
      [name: string]: {
        type?: 'stdio' | 'streamable-http' | 'sse'
        command?: string
        args?: string[]
        env?: { [name: string]: ConfigValue }
        cwd?: string
        url?: string
        headers?: { [name: string]: ConfigValue }
        auth?: { [name: string]: unknown }
        /** Default: `true`. */
        enabled?: boolean
        /** Default: `false`. */
        required?: boolean
        /** Default: `true`. */
        lazy?: boolean
        include?: string[]
        exclude?: string[]
        /** Default: `30`. */
        startup_timeout_secs?: number
        /** Default: `120`. */
        tool_timeout_secs?: number
        effects?: { [name: string]: ('read' | 'write' | 'exec' | 'net' | 'ask')[] }
        /** Default: `false`. */
        trust_annotations?: boolean
      }
    }
    /** Read .mcp.json of the workspace. Default: `true`. */
    read_workspace_file: boolean
  }
  agent: {
    model?: string
    small_model?: string
    /** Model that plans, if tasks are planned, built and evaluated; default: the agent's. */
    planner_model?: string
    /** Model that evaluates such work; default: the agent's. */
    evaluator_model?: string
    fallback_models: string[]
    reasoning_effort?: 'minimal' | 'low' | 'medium' | 'high'
    providers: { [name: string]: string }
    instruction_files: string[]
    /** Default: `["CLAUDE.md","GEMINI.md"]`. */
    project_doc_fallback_filenames: string[]
    /** Default: `32768`. */
    instruction_max_bytes: number
    open_responses: {
      /** Each session keeps derived/open-responses.jsonl, written when a run ends. Default: `false`. */
      enabled: boolean
    }
    harness: {
      /** Default: `120`. */
      max_tool_calls_per_turn: number
      /** Default: `600`. */
      max_tool_wall_clock_secs: number
      /** Default: `2`. */
      max_tool_retries: number
      /** Default: `4`. */
      max_parallel_tool_calls: number
      /** 0 is no limit. Default: `0`. */
      max_run_wall_clock_secs: number
      /** Default: `8`. */
      max_consecutive_blocked_tool_calls_per_turn: number
      max_budget_usd?: number
      /** Default: `false`. */
      allow_unpriced: boolean
      /** Default: `0.75`. */
      budget_warning_threshold: number
      /** Default: `true`. */
      auto_compaction_enabled: boolean
      auto_compaction_threshold_tokens?: number
      /** Default: `true`. */
      compact_on_model_switch: boolean
      tool_result_clearing: {
        /** Default: `true`. */
        enabled: boolean
        /** Default: `100000`. */
        trigger_tokens: number
        /** Default: `3`. */
        keep_tool_uses: number
        /** Default: `30000`. */
        clear_at_least_tokens: number
        /** Default: `false`. */
        clear_tool_inputs: boolean
      }
      event_log_path?: string
      /**
       * Automatic continuation of the agent until its tasks are done and verified: never, in `exec` and mode full-auto,
       * or always. A goal of a person continues unless this is off. Default: `exec_only`.
       */
      continuation_policy: 'off' | 'exec_only' | 'all'
      /**
       * Restart of a task in a new conversation with only prompt, memory and tracker: never, when several turns do not
       * change the tracker, or after a compaction. Default: `off`.
       */
      context_reset_mode: 'off' | 'on_stall' | 'on_compaction'
      /** Continued turns in a row without a changed tracker. Default: `2`. */
      context_reset_stall_threshold: number
      verification: {
        /**
         * auto: unverified work is reported; always: unverified work is no success; never: no command runs. Default:
         * `auto`.
         */
        required: 'auto' | 'always' | 'never'
        /** Of each command. Default: `900`. */
        timeout_secs: number
        /** Run after those of the tasks. */
        commands: string[]
      }
      /**
       * Runs in which one request plans the task, the agent builds it and another request evaluates it: none, or those
       * of `exec`, `resume` and mode full-auto. Default: `single`.
       */
      orchestration_mode: 'single' | 'plan_build_evaluate' | 'planner_generator_evaluator'
      /** Number of revisions of work that was not accepted. Default: `2`. */
      max_revision_rounds: number
      /** Several models evaluate in parallel; each of them has to accept the work. */
      skeptic_panel: {
        /** Default: `false`. */
        enabled: boolean
        models: string[]
      }
      async_approval: {
        /** Default: `false`. */
        enabled: boolean
        /** Default: `3600`. */
        timeout_secs: number
        notify_command?: string[]
      }
    }
  }
  automation: {
    full_auto: {
      /** Default: `false`. */
      enabled: boolean
      /** Default: `100`. */
      max_turns: number
      /** Default: `["unified_search","unified_file","unified_exec","apply_patch"]`. */
      allowed_tools: string[]
    }
    scheduled_tasks: {
      /** Default: `false`. */
      enabled: boolean
      /** Default: `4`. */
      max_parallel: number
    }
    distributed: {
      /** Default: `false`. */
      enabled: boolean
      /** The queue server, such as redis://127.0.0.1:6379; its scheme selects the job engine. */
      url?: ConfigValue
      /** Signs jobs and results; the same on all machines, at least 16 characters. */
      secret?: ConfigValue
      /** Default: `{vtcode}`. */
      prefix: string
      /** Waiting jobs at most. Default: `1000`. */
      max_queue_depth: number
      /** The time after which a silent worker loses its job. Default: `30000`. */
      lock_ms: number
      /** The interval of the search for lost jobs. Default: `15000`. */
      stalled_ms: number
      /** The time that jobs, results and files stay on the server. Default: `86400`. */
      result_ttl_secs: number
      /** Default: `64`. */
      blob_max_mb: number
      /** Refuse a server that does not write jobs to its disk. Default: `true`. */
      require_durable: boolean
      /** Allow a server on another machine without TLS. Default: `false`. */
      allow_plain: boolean
    }
  }
  context: {
    /** Default: `160000`. */
    max_context_tokens: number
    dynamic: {
      /** Default: `true`. */
      enabled: boolean
      /** Default: `8192`. */
      tool_output_threshold: number
      /** Default: `true`. */
      persist_history: boolean
      /** Default: `4`. */
      retained_user_messages: number
      /** Default: `512`. */
      spool_max_mb: number
    }
  }
  tools: {
    /** Default: `40`. */
    max_tool_loops: number
    /** Default: `2`. */
    max_repeated_tool_calls: number
    /** Default: `150`. */
    max_conversation_turns: number
  }
  telemetry: {
    /**
     * Each session keeps derived/atif-trajectory.json, written when a run ends. Nothing is ever sent. Default: `false`.
     */
    atif_enabled: boolean
    /** Default address for spans of `vtcode export otel --endpoint`. Nothing else is ever sent. */
    otel_endpoint?: string
  }
  /** Agents that do parts of the work of a conversation. */
  subagents: {
    /** Default: `true`. */
    enabled: boolean
    /** Default: `3`. */
    max_concurrent: number
    /** Default: `1`. */
    max_depth: number
    /** Default: `20`. */
    max_total_per_run: number
    /** Default: `300`. */
    default_timeout_secs: number
  }
  sessions: {
    /** Default: `50`. */
    max_count: number
    /** Default: `30`. */
    max_age_days: number
    /** Default: `1024`. */
    max_total_mb: number
  }
  checkpoints: {
    /**
     * Keep the files before each command that may change some, so that `vtcode revert` restores them. Default: `true`.
     */
    enabled: boolean
    /** Size of all kept content of one workspace. The oldest commands are dropped first. Default: `2048`. */
    max_mb: number
    /** Commands older than this cannot be reverted. Default: `30`. */
    days: number
    /** Longest wait of a command for its checkpoint. Files not kept by then are named. Default: `10000`. */
    wait_ms: number
  }
  /** Model servers. */
  custom_providers: ConfigProvider[]
  providers: {
    [name: string]: {
      base_url?: string
      api_key_env?: string
      models?: string[]
      /** Model id to its properties. */
      profiles?: { [name: string]: ConfigProfile }
    }
  }
  web: {
    /** Default: `true`. */
    enabled: boolean
    allow_hosts?: string[]
    deny_hosts: string[]
    fetch: {
      /** Default: `500000`. */
      max_bytes: number
      /** Default: `30`. */
      timeout_secs: number
      /** Default: `5`. */
      max_redirects: number
    }
    search: {
      /** Default: `duckduckgo`. */
      provider: string
      /** Default: `5`. */
      max_results: number
      /** Default: `12`. */
      max_calls_per_session: number
      /** Default: `3`. */
      min_interval_secs: number
    }
    defuddle: {
      /** Default: `true`. */
      enabled: boolean
      /** Default: `262144`. */
      max_bytes: number
      /** Default: `1`. */
      max_calls_per_session: number
      base_url?: string
    }
    /** Host names, addresses, CIDR or *. */
    private_hosts: string[]
    proxy?: string
    user_agent?: string
  }
  exec: {
    /** Default: `true`. */
    enabled: boolean
    /** Default: `180`. */
    default_timeout_secs: number
    /** Default: `1800`. */
    max_timeout_secs: number
    /** Default: `32`. */
    max_sessions: number
    /** Default: `1800`. */
    idle_secs: number
    /** Default: `10000`. */
    max_output_tokens: number
    /** Memory of one script of unified_exec code in language javascript. Default: `64`. */
    script_max_memory_mb: number
    /** Calls that one such script may make. Default: `10000`. */
    script_max_calls: number
    /** Default: `bash`. */
    shell: string
    env: { [name: string]: ConfigValue }
  }
  sandbox: {
    /** Default: `auto`. */
    mode: 'required' | 'auto' | 'off'
    /** Default: `auto`. */
    plugins: 'required' | 'auto' | 'off'
    /** Default: `false`. */
    network: boolean
    deny_read: string[]
    deny_write: string[]
    writable: string[]
    readable: string[]
  }
  diagnostics: {
    /**
     * The diagnostics of language servers that a change adds are shown with its result: all, only errors, or off.
     * Default: `all`.
     */
    after_changes: 'all' | 'errors' | 'off'
    /** Longest wait for the diagnostics of a change. Default: `1500`. */
    wait_ms: number
  }
  language_servers: {
    /** Language servers may be started. Default: `true`. */
    enabled: boolean
    /**
     * required: servers run in the sandbox or not at all. off: also without it, with all rights of the user. Default:
     * `required`.
     */
    sandbox: 'required' | 'off'
    /** A server without requests ends after this time. Default: `10`. */
    idle_minutes: number
    /** A server that uses more memory is ended. Default: `4096`. */
    max_memory_mb: number
  }
  output: {
    /** Default: `concise`. */
    response_format: 'concise' | 'detailed'
    /** Default: `8192`. */
    max_text_bytes: number
    /** Default: `true`. */
    redact: boolean
  }
  ui: {
    /** Colors of the chat; auto: as the terminal reports. Default: `auto`. */
    theme: 'auto' | 'dark' | 'light' | 'none'
    /**
     * Place of the chat: inline, below the history of the shell, or alternate, on the second screen of the terminal;
     * auto is inline. Default: `auto`.
     */
    surface: 'auto' | 'inline' | 'alternate'
    /** Keys for actions of the screen, such as `steer: [alt+s]`; docs/terminal.md lists the names. */
    key_bindings: { [name: string]: string[] }
  }
  trust: {
    /** Variables that a workspace file may expand. */
    workspace_env: string[]
    /**
     * A file that gets a line of JSON for each consent that `vtcode trust` gives or revokes, before the change counts.
     * Relative to your .vtcode folder.
     */
    audit_log?: string
  }
}

/** The content of a settings file: any part of the settings. */
export type Config = Part<Settings>

type ConfigApiFormat =
  | 'auto'
  | 'openai-chat'
  | 'openai-responses'
  | 'anthropic-messages'
  | 'google-generative-ai'
  | 'ai-sdk'

/** USD for a million tokens. */
type ConfigCost = {
  input: number
  output: number
  cache_read?: number
  cache_write?: number
}

/** Differences of a server from the format. */
type ConfigCompat = {
  /** Send the instructions as developer, or as system. */
  developer_role?: boolean
  /** Value of store in requests; absent: none. */
  store?: boolean
  max_tokens_field?: 'max_tokens' | 'max_completion_tokens' | 'max_output_tokens'
  /** Our value to the server's. */
  reasoning_effort_map?: { [name: string]: string }
  /** A result contains the name of its tool. */
  tool_result_name?: boolean
  /** The server needs an answer between a result and a user message. */
  assistant_after_tool_result?: boolean
  /** Return the model's reasoning as text. */
  thinking_as_text?: boolean
  thinking_format?: 'openai' | 'zai' | 'qwen'
  /** Value of strict of each tool in requests; absent: none. */
  strict_tools?: boolean
  /** openai-responses: tools whose input is free text. */
  custom_tools?: boolean
  /** Ask for the count of tokens at the end of a stream. */
  usage_in_stream?: boolean
}

/** Properties of one model. */
type ConfigProfile = {
  /** Tokens. */
  context_window?: number
  max_output_tokens?: number
  supports_tools?: boolean
  supports_reasoning?: boolean
  supports_reasoning_effort?: boolean
  supports_vision?: boolean
  supports_structured_output?: boolean
  supports_parallel_tool_calls?: boolean
  supports_context_caching?: boolean
  supports_responses_compaction?: boolean
  supports_context_edits?: boolean
  /** false: scripts of calls are neither listed nor suggested. */
  supports_code_mode?: boolean
  cost?: ConfigCost
  compat?: ConfigCompat
  api_format?: ConfigApiFormat
  display_name?: string
  /** Merged into every request. */
  body?: { [name: string]: unknown }
}

/** Without type, command means command. */
type ConfigAuth = {
  type?: 'none' | 'bearer' | 'header' | 'query' | 'basic' | 'command' | 'oauth' | 'aws_sigv4'
  /** Of the header or the parameter. */
  name?: string
  value?: ConfigProviderValue
  username?: ConfigProviderValue
  password?: ConfigProviderValue
  command?: string
  args?: string[]
  cwd?: string
  timeout_ms?: number
  refresh_interval_ms?: number
  /** oauth: the address where the user signs in with a browser. */
  authorization_url?: string
  token_url?: string
  client_id?: string
  scopes?: string[]
  /** oauth: the address for a code to enter on another device (RFC 8628), instead of a browser here. */
  device?: string
  /** aws_sigv4: the region of the server. */
  region?: string
  /**
   * aws_sigv4: the profile of the signing keys in the files of AWS; absent: the keys of the environment, then
   * AWS_PROFILE, then default.
   */
  profile?: string
  /** aws_sigv4: the service; default: bedrock. */
  service?: string
}

/** A server of models. */
type ConfigProvider = {
  name: string
  base_url?: string
  /** An installed AI SDK package. */
  package?: string
  /** The function of the package that creates the provider. */
  factory?: string
  /** Arguments of the factory; a value may be a reference to its source. */
  package_options?: { [name: string]: unknown }
  model?: string
  models?: string[] | { [name: string]: ConfigProfile }
  /** Listing models also asks the server. */
  discover?: boolean
  /** The variable with the key; none for a server without keys. */
  api_key_env?: string
  auth?: ConfigAuth
  headers?: { [name: string]: ConfigProviderValue }
  query?: { [name: string]: ConfigProviderValue }
  timeouts?: {
    connect_ms?: number
    first_token_ms?: number
    idle_ms?: number
    /** All attempts of one step. */
    total_ms?: number
  }
  retries?: {
    /** After a temporary refusal. */
    request?: number
    /** After an incomplete answer. */
    stream?: number
  }
  /** PEM files. */
  tls?: {
    ca_file?: string
    cert_file?: string
    key_file?: string
  }
  /** http:// or https://, for this provider alone. */
  proxy?: string
  /** Model id to its properties. */
  profiles?: { [name: string]: ConfigProfile }
  /** Tokens. */
  context_window?: number
  max_output_tokens?: number
  supports_tools?: boolean
  supports_reasoning?: boolean
  supports_reasoning_effort?: boolean
  supports_vision?: boolean
  supports_structured_output?: boolean
  supports_parallel_tool_calls?: boolean
  supports_context_caching?: boolean
  supports_responses_compaction?: boolean
  supports_context_edits?: boolean
  /** false: scripts of calls are neither listed nor suggested. */
  supports_code_mode?: boolean
  cost?: ConfigCost
  compat?: ConfigCompat
  api_format?: ConfigApiFormat
  display_name?: string
  /** Merged into every request. */
  body?: { [name: string]: unknown }
}

/** Text, or a reference to its source; in a manifest also a need or an option of it. */
type ConfigProviderValue =
  | ConfigValue
  | {
      secret: string
    }
  | {
      option: string
    }

/** Text, or a reference to its source. */
type ConfigValue =
  | string
  | {
      env?: string
      file?: string
      command?: string[]
      timeout_secs?: number
      refresh_secs?: number
      keychain?: {
        service: string
        account: string
      }
    }

type ConfigRule =
  | string
  | {
      rule: string
      reason?: string
      match?: string[]
      not_match?: string[]
    }

/** A map with any names; some of them are known. */
type Open<Name extends string, Value> = { [name in Name]?: Value } & { [name: string]: Value }

/** Makes all keys optional, except those in lists and maps. */
type Part<Whole> = Whole extends readonly unknown[]
  ? Whole
  : string extends keyof Whole
    ? Whole
    : Whole extends object
      ? { [Key in keyof Whole]?: Part<Whole[Key]> }
      : Whole

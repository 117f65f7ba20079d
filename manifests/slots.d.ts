// Generated from the manifests of the actions by `npm run docs`. Change that, not this.

/** What the slots that come with the program take, but for the word `action`, and what they answer. */
export interface BuiltinSlots {
  /** End an agent */
  'agents/close': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      id: string
      /** true, or globs. */
      merge?: boolean | string[]
    }
    output: {
      id: string
      session_id?: string
      thread_id?: string
      agent: string
      label?: string
      status: 'queued' | 'running' | 'completed' | 'failed' | 'closed'
      depth?: number
      background?: boolean
      isolation?: 'shared' | 'worktree'
      /** The folder of its copy. */
      worktree?: string
      write_paths?: string[]
      created_at?: string
      completed_at?: string
      summary?: string
      error?: { [name: string]: unknown }
      cost_usd?: number | null
      transcript_path?: string
      changed_files?: string[]
      /** The merged files. */
      changes?: {
        path: string
        op: 'add' | 'update' | 'delete'
        /** Lines. */
        added: number
        /** Lines. */
        removed: number
      }[]
    }
  }
  /** List the agents */
  'agents/list': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
    }
    output: {
      children: { [name: string]: unknown }[]
      slots_left: number
      total_left: number
      spent_usd: number
    }
  }
  /** Merge the changes of an agent */
  'agents/merge': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      /** The name of its folder below .vtcode/worktrees. */
      worktree: string
      paths: string[]
    }
    output: {
      changes: {
        path: string
        op: 'add' | 'update' | 'delete'
        /** Lines. */
        added: number
        /** Lines. */
        removed: number
      }[]
    }
  }
  /** Message an agent */
  'agents/send': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      id: string
      message: string
      /** Stops its current work first. Default: `false`. */
      interrupt?: boolean
    }
    output: {
      id: string
      session_id?: string
      thread_id?: string
      agent: string
      label?: string
      status: 'queued' | 'running' | 'completed' | 'failed' | 'closed'
      depth?: number
      background?: boolean
      isolation?: 'shared' | 'worktree'
      /** The folder of its copy. */
      worktree?: string
      write_paths?: string[]
      created_at?: string
      completed_at?: string
      summary?: string
      error?: { [name: string]: unknown }
      cost_usd?: number | null
      transcript_path?: string
      changed_files?: string[]
    }
  }
  /** Start an agent */
  'agents/spawn': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      /** The whole task - what to find or do, and what to report. */
      message: string
      /** explorer, verifier, worker or one of .vtcode/agents. Default: `worker`. */
      agent?: string
      /** A few words for people. */
      label?: string
      /** Globs of the files that it alone writes. */
      write_paths?: string[]
      /** worktree: a copy, where it runs commands. */
      isolation?: 'shared' | 'worktree'
      /** Returns at once; the report comes later, or by wait. */
      background?: boolean
      model?: string
      /** The most turns of its model. */
      max_turns?: number
      timeout_secs?: number
    }
    output: BuiltinSlots['agents/send']['output']
  }
  /** Wait for agents */
  'agents/wait': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      /** Default: all. */
      ids?: string[]
      /** Default: `all`. */
      mode?: 'all' | 'any'
      /** Default: `60`. */
      timeout_secs?: number
    }
    output: {
      children: { [name: string]: unknown }[]
      timed_out: boolean
    }
  }
  /** Apply a patch */
  apply_patch: {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      input: string
      /** Default: `false`. */
      dry_run?: boolean
    }
    output: {
      changes: {
        path: string
        op: 'add' | 'update' | 'delete' | 'move' | 'copy'
        /** New path of a moved or copied file. */
        to?: string
        hunks?: number
        /** Present if the patch changes the mode. */
        executable?: boolean
        /** Lines. */
        added: number
        /** Lines. */
        removed: number
        /** Of the new content. */
        hash?: string
      }[]
      dry_run: boolean
      /** Hunks that matched with differences ignored. */
      fuzzy: number
      diff: string
    }
  }
  /** Call what is not shown */
  call_tool: {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      tool: string
      input?: { [name: string]: unknown }
    }
    output: { [name: string]: unknown }
  }
  /** Schedule a prompt */
  'cron/create': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      /** The task to do then. */
      prompt: string
      /** Five fields, such as 0 9 * * 1-5, in the time zone of this machine. */
      expression?: string
      /**
       * A number and s, m, h or d, such as 10m; rounded to a divisor of its unit, and the answer contains the result.
       */
      every?: string
      /** Once: HH:MM, or RFC 3339. */
      run_at?: string
    }
    output: {
      id: string
      prompt: string
      when: string
      /** RFC 3339. */
      next: string
      /** RFC 3339. */
      ends?: string
    }
  }
  /** Delete a scheduled prompt */
  'cron/delete': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      /** From {slot:cron/list}, or all. */
      id: string
    }
    output: {
      deleted: number
    }
  }
  /** List scheduled prompts */
  'cron/list': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
    }
    output: {
      tasks: { [name: string]: unknown }[]
    }
  }
  /** Fetch a page through a reader service */
  defuddle_fetch: {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      /** http(s). */
      url: string
      max_bytes?: number
    }
    output: {
      url: string
      markdown: string
      bytes: number
      truncated: boolean
      used_this_session: number
      session_cap: number
    }
  }
  ast_grep: {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      /** One AST pattern. */
      pat: string
      /** Files, directories, globs. */
      paths: string[]
      /** Matches to skip. Default: `0`. */
      skip?: number
    }
    output: {
      /** Of all pages. */
      matchCount: number
      fileCount: number
      filesSearched?: number
      /** There is a next page. */
      limitReached: boolean
      parseErrors?: string[]
      scopePath?: string
      files: string[]
      fileMatches: {
        path: string
        count: number
      }[]
    }
  }
  /** Search text loosely */
  'grep_search/fuzzy': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      /** Characters in the order in which they occur in a line. */
      pattern: string
      /** Lines below this score are left out. Default: `0.7`. */
      fuzzy_threshold?: number
      /** File or directory. Default: `.`. */
      path?: string
      /** Default: `false`. */
      case_sensitive?: boolean
      /** Lines in this answer. Default: `100`. */
      max_results?: number
      /** Lines left out at the start. Default: `0`. */
      skip?: number
      globs?: string | string[]
      file_extensions?: string[]
      /** Default: `false`. */
      include_hidden?: boolean
      /** Default: `false`. */
      include_ignored?: boolean
    }
    output: {
      matches: {
        file: string
        line_number: number
        text: string
        /** 0 to 1. */
        score: number
        text_truncated?: true
      }[]
      total_matches: number
      files_searched: number
      truncated: boolean
      total_is_lower_bound?: true
      /** The call that continues. */
      next?: {
        tool: string
        input: { [name: string]: unknown }
      }
    }
  }
  /** Search similar files */
  'grep_search/similarity': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      /** The file that others are compared with. */
      reference_file: string
      /** Which of its names: types, imported modules, functions and methods, or all. Default: `all`. */
      content_type?: 'structure' | 'imports' | 'functions' | 'all'
      /** Directory. Default: `.`. */
      path?: string
      /** Lines in this answer. Default: `100`. */
      max_results?: number
      globs?: string | string[]
      /** Default: `false`. */
      include_hidden?: boolean
      /** Default: `false`. */
      include_ignored?: boolean
    }
    output: {
      /** The first line with each shared name, file by file. */
      matches: {
        file: string
        line_number: number
        text: string
      }[]
      files: {
        path: string
        score: number
        shared: string[]
      }[]
      total_files: number
      /** Number of searched names of the reference file. */
      names: number
      truncated: boolean
      /** The call that includes what was left out. */
      next?: {
        tool: string
        input: { [name: string]: unknown }
      }
    }
  }
  /** List skills */
  list_skills: {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      /** Words in name or description. */
      query?: string
      /** Default: `all`. */
      scope?: 'workspace' | 'user' | 'bundled' | 'all'
      /** Default: `1`. */
      page?: number
      /** Default: `50`. */
      per_page?: number
    }
    output: {
      skills: {
        /** For load_skill; the id if another skill has the bare name. */
        name: string
        description: string
        scope: 'workspace' | 'user' | 'bundled'
        path: string
        /** In this session. */
        loaded: boolean
        keywords?: string[]
      }[]
      total: number
      page: number
      per_page: number
      has_more: boolean
      skipped: {
        path: string
        reason: string
      }[]
      /** The call that continues. */
      next?: {
        tool: string
        input: { [name: string]: unknown }
      }
    }
  }
  /** Load a skill */
  load_skill: {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      name: string
      /** Fills $ARGUMENTS, $1 and the like in it. */
      arguments?: string
    }
    output: {
      name: string
      description: string
      instructions: string
      /** Of its SKILL.md. */
      path: string
      scope: 'workspace' | 'user' | 'bundled'
      /** In this session. */
      already_loaded: boolean
      /** Paths for load_skill_resource. */
      resources: string[]
      /** Slots that you can call now. */
      tools_added: string[]
      /** As the skill lists them; no grant. */
      allowed_tools?: string[]
      compatibility?: string
    }
  }
  /** Read a file of a skill */
  load_skill_resource: {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      /** A loaded skill. */
      skill_name: string
      /** Such as references/rules.md. */
      resource_path: string
      max_bytes?: number
      /** First line, from 1. */
      offset_lines?: number
      /** Number of lines. */
      page_size_lines?: number
      /** Last line, inclusive. */
      end_line?: number
      /** First byte, from 0. */
      offset_bytes?: number
      /** Number of bytes. */
      page_size_bytes?: number
    }
    output: {
      path: string
      /** Exact text; base64 where encoding says so. */
      content: string
      content_kind: 'text' | 'bytes' | 'image'
      encoding: 'utf-8' | 'utf-16le' | 'utf-16be' | 'base64'
      /** Of an image, which is in the content of the result. */
      mime_type?: string
      /** Less than requested. */
      truncated: boolean
      /** The file has more. */
      has_more: boolean
      size_bytes: number
      /** From 1; of pages of lines. */
      start_line?: number
      /** Inclusive. */
      end_line?: number
      total_lines?: number
      /** From 0; of ranges of bytes. */
      offset_bytes?: number
      bytes_returned?: number
      /** Of the whole file, for expected_hash. */
      hash?: string
      /** The target of a link. */
      resolved_path?: string
      /** Bytes that are not text were replaced. */
      lossy?: true
      eol?: 'lf' | 'crlf' | 'mixed' | 'none'
      bom?: boolean
      /** ISO 8601. */
      modified?: string
      /** The call that continues. */
      next?: {
        tool: string
        input: { [name: string]: unknown }
      }
      skill_name: string
      resource_path: string
    }
  }
  /** Propose a plan */
  propose_plan: {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      title?: string
      /** What will be different. */
      summary?: string
      steps?: {
        action?: string
        files?: string[]
        /** Commands that prove it. */
        verify?: string | string[]
      }[]
      /** How the whole is proved. */
      tests?: string
      assumptions?: string[]
      open_questions?: string[]
    }
    output: {
      path: string
      /** none: no user was there to decide. */
      decision: 'execute' | 'auto_accept' | 'fresh_context' | 'revise' | 'cancel' | 'none'
    }
  }
  /** Report */
  report_result: {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      /** What came of it. */
      summary: string
      /** Each with its file and line. */
      facts?: string[]
      touched_files?: string[]
      /** What was run, and how it ended. */
      verification?: string[]
      open_questions?: string[]
    }
    output: {
      reported: true
    }
  }
  /** Ask the user */
  request_user_input: {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      questions: {
        id: string
        /** A word or two. */
        header: string
        question: string
        /** Without them the answer is free text. */
        options?: {
          label: string
          description: string
        }[]
        focus_area?: string
        /** Findings that led to the question. */
        analysis_hints?: string[]
      }[]
    }
    output:
      | {
          /** By the id of the question. */
          answers: {
            [name: string]: {
              /** Labels of the options. */
              selected: string[]
              /** In the user's own words. */
              other?: string
            }
          }
        }
      | {
          cancelled: true
        }
  }
  /** Add a step */
  'task_tracker/add': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      item:
        | string
        | {
            description: string
            status?: 'pending' | 'in_progress' | 'completed' | 'blocked'
            files?: string[]
            outcome?: string
            /** Commands that prove it. */
            verify?: string | string[]
          }
      /** Number of the step before it. */
      after?: number
    }
    output: {
      title: string
      items: { [name: string]: unknown }[]
      notes?: string
    }
  }
  /** Plan the task */
  'task_tracker/create': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      title: string
      /** Texts, or objects with description, verify, files. */
      items: (
        | string
        | {
            description: string
            status?: 'pending' | 'in_progress' | 'completed' | 'blocked'
            files?: string[]
            outcome?: string
            /** Commands that prove it. */
            verify?: string | string[]
          }
      )[]
    }
    output: BuiltinSlots['task_tracker/add']['output']
  }
  /** List the steps */
  'task_tracker/list': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
    }
    output: BuiltinSlots['task_tracker/add']['output']
  }
  /** Note progress */
  'task_tracker/update': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      /** From 1. */
      index: number
      status?: 'pending' | 'in_progress' | 'completed' | 'blocked'
      outcome?: string
      files?: string[]
      /** Commands that prove it. */
      verify?: string | string[]
      /** Notes on the whole task. */
      notes?: string
    }
    output: BuiltinSlots['task_tracker/add']['output']
  }
  /** End a command */
  'unified_exec/close': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      session_id: string
      /** Default: `SIGTERM`. */
      signal?: 'SIGTERM' | 'SIGINT' | 'SIGHUP' | 'SIGKILL'
      /** Default: `2000`. */
      grace_ms?: number
      max_output_tokens?: number
    }
    output: {
      session_id: string
      command: string | string[]
      cwd: string
      backend: 'pipe' | 'pty'
      running: boolean
      /** null while it runs or after a signal. */
      exit_code: number | null
      signal: string | null
      timed_out: boolean
      duration_ms: number
      /** New since the last result; without a terminal. */
      stdout?: string
      stderr?: string
      /** New since the last result; of a terminal. */
      output?: string
      /** The whole is in spool_path. */
      truncated: boolean
      /** Since the command began. */
      stdout_bytes: number
      stderr_bytes: number
      spool_path?: string
      /** The whole standard error; standard output is in spool_path. */
      stderr_spool_path?: string
      spool_truncated?: true
      /** Start of the next result. */
      cursor: number
      pid?: number
      sandbox?: 'none' | 'bwrap'
      /** The call that continues. */
      next?: {
        tool: string
        input: { [name: string]: unknown }
      }
    }
  }
  /** Run a snippet */
  'unified_exec/code': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      code: string
      /** Default: `javascript`. */
      language?: 'javascript' | 'js' | 'python3' | 'python' | 'py' | 'node'
      /** Default 180; code 30. Default: `30`. */
      timeout_secs?: number
      /** Default: `.`. */
      workdir?: string
      input?: string
      max_output_tokens?: number
    }
    output: {
      session_id?: string
      command?: string | string[]
      cwd?: string
      backend?: 'pipe' | 'pty'
      running?: boolean
      /** null while it runs or after a signal. */
      exit_code: number | null
      signal?: string | null
      timed_out: boolean
      duration_ms: number
      /** New since the last result; without a terminal. */
      stdout?: string
      stderr?: string
      /** New since the last result; of a terminal. */
      output?: string
      /** The whole is in spool_path. */
      truncated: boolean
      /** Since the command began. */
      stdout_bytes?: number
      stderr_bytes?: number
      spool_path?: string
      /** The whole standard error; standard output is in spool_path. */
      stderr_spool_path?: string
      spool_truncated?: true
      /** Start of the next result. */
      cursor?: number
      pid?: number
      sandbox?: 'none' | 'bwrap'
      /** The call that continues. */
      next?: {
        tool: string
        input: { [name: string]: unknown }
      }
      language: 'javascript' | 'python3' | 'node'
      /** The value of result, any JSON. */
      result?: unknown
      /** All calls; calls has the first 100. */
      call_count?: number
      /** Of its calls. */
      effects?: ('read' | 'write' | 'exec' | 'net' | 'ask')[]
      /** Its calls. */
      calls: {
        tool: string
        action?: string
        ok: boolean
        /** Of the failure. */
        code?: string
        duration_ms: number
      }[]
    }
  }
  /** Continue a command */
  'unified_exec/continue': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      session_id: string
      input?: string
      /** As a paste. */
      paste?: boolean
      /** Such as enter, esc, ctrl-c, f1. */
      keys?: (
        | 'enter'
        | 'tab'
        | 'esc'
        | 'up'
        | 'down'
        | 'left'
        | 'right'
        | 'home'
        | 'end'
        | 'backspace'
        | 'delete'
        | 'page-up'
        | 'page-down'
        | 'ctrl-a'
        | 'ctrl-b'
        | 'ctrl-c'
        | 'ctrl-d'
        | 'ctrl-e'
        | 'ctrl-f'
        | 'ctrl-g'
        | 'ctrl-h'
        | 'ctrl-i'
        | 'ctrl-j'
        | 'ctrl-k'
        | 'ctrl-l'
        | 'ctrl-m'
        | 'ctrl-n'
        | 'ctrl-o'
        | 'ctrl-p'
        | 'ctrl-q'
        | 'ctrl-r'
        | 'ctrl-s'
        | 'ctrl-t'
        | 'ctrl-u'
        | 'ctrl-v'
        | 'ctrl-w'
        | 'ctrl-x'
        | 'ctrl-y'
        | 'ctrl-z'
        | 'f1'
        | 'f2'
        | 'f3'
        | 'f4'
        | 'f5'
        | 'f6'
        | 'f7'
        | 'f8'
        | 'f9'
        | 'f10'
        | 'f11'
        | 'f12'
      )[]
      /** Close standard input. */
      eof?: boolean
      rows?: number
      cols?: number
      /** Return after this time. */
      yield_time_ms?: number
      /** Deliver again from here. */
      cursor?: number
      max_output_tokens?: number
    }
    output: BuiltinSlots['unified_exec/close']['output']
  }
  /** Inspect the output of a command */
  'unified_exec/inspect': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      session_id?: string
      spool_path?: string
      /** Default: `both`. */
      stream?: 'stdout' | 'stderr' | 'both'
      head_lines?: number
      tail_lines?: number
      /** Regular expression. */
      query?: string
      /** Plain text. Default: `false`. */
      literal?: boolean
      /** Default: `200`. */
      max_matches?: number
      screen?: boolean
    }
    output: {
      session_id?: string
      spool_path?: string
      running?: boolean
      exit_code?: number | null
      /** First and last lines, or the screen; empty for a query. */
      output: string
      total_lines: number
      truncated: boolean
      /** Of a query. */
      matches?: {
        line_number: number
        text: string
      }[]
      matched_count?: number
      /** Its rows. */
      screen?: string[]
      cursor_row?: number
      cursor_col?: number
    }
  }
  /** List commands */
  'unified_exec/list': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
    }
    output: {
      sessions: {
        session_id: string
        command: string | string[]
        cwd: string
        backend: 'pipe' | 'pty'
        running: boolean
        exit_code: number | null
        /** ISO 8601. */
        started_at: string
        /** ISO 8601. */
        last_activity_at: string
        unread_bytes: number
      }[]
    }
  }
  /** Wait for a command */
  'unified_exec/poll': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      session_id: string
      /** Return after this time. */
      yield_time_ms?: number
      /** Deliver again from here. */
      cursor?: number
      max_output_tokens?: number
    }
    output: BuiltinSlots['unified_exec/close']['output']
  }
  /** Run a command */
  'unified_exec/run': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      /** For the shell. */
      command: string | string[]
      /** command is then a program. */
      args?: string[]
      /** Default: `.`. */
      workdir?: string
      /** Default 180; code 30. */
      timeout_secs?: number
      /** Return after this time. */
      yield_time_ms?: number
      /** Default: `false`. */
      background?: boolean
      /** A terminal. Default: `false`. */
      tty?: boolean
      /** Default: `30`. */
      rows?: number
      /** Default: `120`. */
      cols?: number
      shell?: 'bash' | 'sh' | 'zsh' | 'pwsh'
      /** Default: `false`. */
      login?: boolean
      env?: { [name: string]: string }
      input?: string
      session_id?: string
      max_output_tokens?: number
      /** require_escalated asks the user. */
      sandbox_permissions?: 'use_default' | 'sandbox_or_ask' | 'require_escalated'
      justification?: string
    }
    output: {
      session_id: string
      command: string | string[]
      cwd: string
      backend: 'pipe' | 'pty'
      running: boolean
      /** null while it runs or after a signal. */
      exit_code: number | null
      signal: string | null
      timed_out: boolean
      duration_ms: number
      /** New since the last result; without a terminal. */
      stdout?: string
      stderr?: string
      /** New since the last result; of a terminal. */
      output?: string
      /** The whole is in spool_path. */
      truncated: boolean
      /** Since the command began. */
      stdout_bytes: number
      stderr_bytes: number
      spool_path?: string
      /** The whole standard error; standard output is in spool_path. */
      stderr_spool_path?: string
      spool_truncated?: true
      /** Start of the next result. */
      cursor: number
      pid?: number
      sandbox?: 'none' | 'bwrap'
      /** Entries kept before the command, and its changes to files. */
      checkpoint?: {
        files: number
        /** All files were kept. */
        complete: boolean
        changed: {
          path: string
          kind: 'add' | 'delete' | 'update'
        }[]
      }
      /** The call that continues. */
      next?: {
        tool: string
        input: { [name: string]: unknown }
      }
    }
  }
  /** Send input to a command */
  'unified_exec/write': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      session_id: string
      input?: string
      /** As a paste. */
      paste?: boolean
      /** Such as enter, esc, ctrl-c, f1. */
      keys?: (
        | 'enter'
        | 'tab'
        | 'esc'
        | 'up'
        | 'down'
        | 'left'
        | 'right'
        | 'home'
        | 'end'
        | 'backspace'
        | 'delete'
        | 'page-up'
        | 'page-down'
        | 'ctrl-a'
        | 'ctrl-b'
        | 'ctrl-c'
        | 'ctrl-d'
        | 'ctrl-e'
        | 'ctrl-f'
        | 'ctrl-g'
        | 'ctrl-h'
        | 'ctrl-i'
        | 'ctrl-j'
        | 'ctrl-k'
        | 'ctrl-l'
        | 'ctrl-m'
        | 'ctrl-n'
        | 'ctrl-o'
        | 'ctrl-p'
        | 'ctrl-q'
        | 'ctrl-r'
        | 'ctrl-s'
        | 'ctrl-t'
        | 'ctrl-u'
        | 'ctrl-v'
        | 'ctrl-w'
        | 'ctrl-x'
        | 'ctrl-y'
        | 'ctrl-z'
        | 'f1'
        | 'f2'
        | 'f3'
        | 'f4'
        | 'f5'
        | 'f6'
        | 'f7'
        | 'f8'
        | 'f9'
        | 'f10'
        | 'f11'
        | 'f12'
      )[]
      /** Close standard input. */
      eof?: boolean
      rows?: number
      cols?: number
      /** Return after this time. */
      yield_time_ms?: number
      max_output_tokens?: number
    }
    output: BuiltinSlots['unified_exec/close']['output']
  }
  /** Copy a file or directory */
  'unified_file/copy': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      path: string
      /** The full new path. */
      destination: string
      /** Default: `false`. */
      recursive?: boolean
      /** Default: `false`. */
      overwrite?: boolean
    }
    output: {
      from: string
      to: string
      kind: 'file' | 'dir' | 'symlink'
      overwritten: boolean
      entries: number
      bytes: number
    }
  }
  /** Delete a file or directory */
  'unified_file/delete': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      path: string
      /** Default: `false`. */
      recursive?: boolean
      /** A missing path is no error. Default: `false`. */
      force?: boolean
      expected_hash?: string
    }
    output: {
      path: string
      kind: 'file' | 'dir' | 'symlink'
      deleted: boolean
      /** Entries of a directory. */
      entries: number
      /** Nothing was found. */
      skipped?: true
    }
  }
  /** Edit a file */
  'unified_file/edit': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      path: string
      old_str?: string
      new_str?: string
      edits?: {
        old_str: string
        new_str: string
        replace_all?: boolean
      }[]
      /** Default: `false`. */
      replace_all?: boolean
      expected_hash?: string
    }
    output: {
      path: string
      replacements: number
      /** Of the change. */
      first_line: number
      last_line: number
      /** Of the new content. */
      hash: string
      /** Target of a link. */
      resolved_path?: string
      diff: string
      /** Changes by others before this one. */
      diff_since_read?: string
    }
  }
  /** Move or rename */
  'unified_file/move': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      path: string
      /** The full new path. */
      destination: string
      /** Default: `false`. */
      overwrite?: boolean
      expected_hash?: string
    }
    output: {
      from: string
      to: string
      kind: 'file' | 'dir' | 'symlink'
      overwritten: boolean
    }
  }
  /** Apply a patch */
  'unified_file/patch': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      patch: string
      path?: string
      /** Default: `false`. */
      dry_run?: boolean
    }
    output: BuiltinSlots['apply_patch']['output']
  }
  /** Read a file */
  'unified_file/read': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      path: string
      max_bytes?: number
      /** First line, from 1. */
      offset_lines?: number
      page_size_lines?: number
      /** Last line, inclusive. */
      end_line?: number
      /** First byte, from 0. */
      offset_bytes?: number
      page_size_bytes?: number
      /** Of a PDF: 1-5. */
      pages?: string
    }
    output: {
      path: string
      /** Exact text; base64 where encoding says so. */
      content: string
      content_kind: 'text' | 'bytes' | 'image' | 'pdf'
      encoding: 'utf-8' | 'utf-16le' | 'utf-16be' | 'base64'
      /**
       * Of an image, which is among the contents of the answer: a PNG, JPEG, GIF or WebP of at most 3,932,160 bytes (5
       * MiB as base64) and 8,000 points a side.
       */
      mime_type?: string
      /** Of an image, in points. */
      width?: number
      height?: number
      /** Less than requested. */
      truncated: boolean
      /** The file has more. */
      has_more: boolean
      size_bytes: number
      /** From 1; of pages of lines. */
      start_line?: number
      /** Inclusive. */
      end_line?: number
      total_lines?: number
      /** Of a PDF; it has at most 32 MiB, and of it 20 pages are read in a call. */
      page_count?: number
      /** From 1; of a PDF. */
      start_page?: number
      /** Inclusive. */
      end_page?: number
      /** From 0; of ranges of bytes. */
      offset_bytes?: number
      bytes_returned?: number
      /** Of the whole file, for expected_hash. */
      hash?: string
      /** Target of a link. */
      resolved_path?: string
      /** Bytes that are not text were replaced. */
      lossy?: true
      eol?: 'lf' | 'crlf' | 'mixed' | 'none'
      bom?: boolean
      /** ISO 8601. */
      modified?: string
      /** The call that continues. */
      next?: {
        tool: string
        input: { [name: string]: unknown }
      }
    }
  }
  /** Rename a symbol */
  'unified_file/rename': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      /** Default: `.`. */
      path?: string
      /** With path: the line of the symbol. */
      line?: number
      /** From 1, in UTF-16 units. */
      column?: number
      /** A name, such as Server.run. */
      symbol?: string
      new_name: string
      /** Default: `false`. */
      dry_run?: boolean
    }
    output: {
      changes: {
        path: string
        op: string
        added: number
        removed: number
      }[]
      /** Changed places. */
      total: number
      files: number
      dry_run: boolean
    }
  }
  /** Write a file */
  'unified_file/write': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      path: string
      content: string
      /** Default: `fail_if_exists`. */
      mode?: 'fail_if_exists' | 'overwrite' | 'append' | 'skip_if_exists'
      overwrite?: boolean
      expected_hash?: string
    }
    output: {
      path: string
      mode: 'fail_if_exists' | 'overwrite' | 'append' | 'skip_if_exists'
      created: boolean
      bytes_written: number
      total_lines: number
      /** Of the whole content. */
      hash: string
      /** The file exists and is unchanged. */
      skipped?: true
      /** Target of a link. */
      resolved_path?: string
      diff?: string
      /** Changes by others before this one. */
      diff_since_read?: string
    }
  }
  /** Describe the runtime */
  'unified_search/agent': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      /** Default: `summary`. */
      mode?: 'summary' | 'tools' | 'diagnostics' | 'full' | 'debug' | 'analyze'
    }
    output: {
      version: string
      node: string
      platform: string
      /** The name of its folder. */
      workspace: string
      mode: 'plan' | 'ask' | 'auto' | 'full-auto'
      surface: string
      dialect: string
      trusted: boolean
      counts: {
        slots: number
        plugins: number
        skills: number
        mcp_servers: number
      }
      engines: {
        [name: string]: {
          available: boolean
          version?: string
          reason?: string
        }
      }
      tools?: {
        slot: string
        plugin: string
        effects: ('read' | 'write' | 'exec' | 'net' | 'ask')[]
      }[]
      diagnostics?: {
        code: string
        message: string
        file?: string
      }[]
    }
  }
  /** Find calls */
  'unified_search/calls': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      /** Default: `.`. */
      path?: string
      /** With path: the line of the symbol. */
      line?: number
      /** From 1, in UTF-16 units. */
      column?: number
      /** A name, such as Server.run. */
      symbol?: string
      /** Default: `incoming`. */
      direction?: 'incoming' | 'outgoing'
      /** Default: `100`. */
      max_results?: number
      /** Default: `0`. */
      skip?: number
    }
    output: {
      matches: {
        path: string
        line_number: number
        /** From 1, in UTF-16 units. */
        column: number
        /** The line. */
        text: string
        name?: string
      }[]
      total: number
      truncated: boolean
      /** The call that continues. */
      next?: {
        tool: string
        input: { [name: string]: unknown }
      }
    }
  }
  /** Find definitions */
  'unified_search/definition': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      /** Default: `.`. */
      path?: string
      /** With path: the line of the symbol. */
      line?: number
      /** From 1, in UTF-16 units. */
      column?: number
      /** A name, such as Server.run. */
      symbol?: string
      /** Default: `100`. */
      max_results?: number
      /** Default: `0`. */
      skip?: number
    }
    output: BuiltinSlots['unified_search/calls']['output']
  }
  /** List diagnostics */
  'unified_search/diagnostics': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      /** Default: `.`. */
      path?: string
      /** The least severe ones to list. Default: `warning`. */
      severity?: 'error' | 'warning' | 'info' | 'hint'
      /** Default: `100`. */
      max_results?: number
      /** Default: `0`. */
      skip?: number
    }
    output: {
      matches: {
        path: string
        line_number: number
        /** From 1, in UTF-16 units. */
        column: number
        severity: 'error' | 'warning' | 'info' | 'hint'
        code?: string
        message: string
      }[]
      total: number
      /** That were checked. */
      files: number
      truncated: boolean
      /** The call that continues. */
      next?: {
        tool: string
        input: { [name: string]: unknown }
      }
    }
  }
  /** Show failed calls */
  'unified_search/errors': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      /** Default: `all`. */
      scope?: 'all' | 'current' | 'archive'
      /** Default: `20`. */
      max_results?: number
    }
    output: {
      scope: 'all' | 'current' | 'archive'
      errors: {
        /** ISO 8601. */
        time: string
        session: string
        tool: string
        action?: string
        code: string
        message: string
        input?: { [name: string]: unknown }
        /** Identical failures in a row. */
        count: number
      }[]
      total: number
      truncated: boolean
      /** There are calls of earlier sessions. */
      archive_available: boolean
    }
  }
  /** Search text */
  'unified_search/grep': {
    input: {
      response_format?: 'concise' | 'detailed'
      pattern?: string
      /** Instead of pattern. */
      patterns?: string[]
      /** AND: files with all. OR: lines with any. */
      logic?: 'AND' | 'OR'
      /** Default: `.`. */
      path?: string
      case_sensitive?: boolean
      /** Default: `0`. */
      context_lines?: number
      /** Default: `100`. */
      max_results?: number
      /** Default: `0`. */
      skip?: number
      /** Counts all matches. */
      count?: 'exact'
      /** Plain text. Default: `false`. */
      literal?: boolean
      /** Relative to path; ! excludes. */
      globs?: string | string[]
      file_extensions?: string[]
      /** Default: `false`. */
      include_hidden?: boolean
      /** Default: `false`. */
      include_ignored?: boolean
    }
    output: {
      matches: {
        file: string
        line_number: number
        /** From 1, in code points. */
        column: number
        text: string
        /** Of a match that may span lines. */
        end_line_number?: number
        /** Lines of context. */
        before?: string[]
        /** Lines of context. */
        after?: string[]
        text_truncated?: true
        /** Bytes that are not text were replaced. */
        lossy?: true
        /** Of the line, in bytes. */
        absolute_offset?: number
        /** Offsets are bytes within the line. */
        submatches?: {
          text: string
          start: number
          end: number
        }[]
      }[]
      /** Of all pages. */
      total_matches: number
      files_with_matches: number
      files_searched: number
      truncated: boolean
      /** ripgrep, or javascript where it is missing. */
      backend: string
      /** The search stopped before its end; all totals are lower bounds. */
      total_is_lower_bound?: true
      /** The first files with matches where the answer is truncated. */
      files?: {
        file: string
        count: number
      }[]
      /** The call that continues. */
      next?: {
        tool: string
        input: { [name: string]: unknown }
      }
    }
  }
  /** Show the type */
  'unified_search/hover': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      /** Default: `.`. */
      path?: string
      /** With path: the line of the symbol. */
      line?: number
      /** From 1, in UTF-16 units. */
      column?: number
      /** A name, such as Server.run. */
      symbol?: string
    }
    output: {
      path: string
      line_number: number
      column: number
      content: string
      truncated: boolean
    }
  }
  /** Find implementations */
  'unified_search/implementations': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      /** Default: `.`. */
      path?: string
      /** With path: the line of the symbol. */
      line?: number
      /** From 1, in UTF-16 units. */
      column?: number
      /** A name, such as Server.run. */
      symbol?: string
      /** Default: `100`. */
      max_results?: number
      /** Default: `0`. */
      skip?: number
    }
    output: BuiltinSlots['unified_search/calls']['output']
  }
  /** List files */
  'unified_search/list': {
    input: {
      response_format?: 'concise' | 'detailed'
      /** Default: `.`. */
      path?: string
      /** Default: `list`. */
      mode?: 'list' | 'recursive' | 'tree' | 'find_name' | 'find_content' | 'largest'
      /** Default: `200`. */
      max_results?: number
      /** Default: `1`. */
      page?: number
      /** Glob over path or name. */
      pattern?: string
      /** Glob, or part of the name. */
      name_pattern?: string
      content_pattern?: string
      file_extensions?: string[]
      entry_type?: 'any' | 'file' | 'dir'
      case_sensitive?: boolean
      /** Default: `false`. */
      include_hidden?: boolean
      /** Default: `false`. */
      include_ignored?: boolean
      /** Default: `false`. */
      follow?: boolean
      max_depth?: number
      max_items?: number
      /** Relative to path; ! excludes. */
      globs?: string | string[]
    }
    output: {
      items: {
        path: string
        type: 'file' | 'dir' | 'symlink' | 'other'
        /** Of find_content. */
        matches?: number
        /** Bytes. */
        size?: number
        name?: string
        depth?: number
        /** ISO 8601. */
        modified?: string
        /** Where a link points. */
        target?: string
      }[]
      /** Of all pages. */
      total: number
      page: number
      per_page: number
      has_more: boolean
      mode: 'list' | 'recursive' | 'tree' | 'find_name' | 'find_content' | 'largest'
      path: string
      truncated: boolean
      /** The walk stopped before its end. */
      total_is_lower_bound?: true
      /** Of mode tree, instead of items. */
      tree?: string
      ignored_count?: number
      hidden_count?: number
      message?: string
      /** The call that continues. */
      next?: {
        tool: string
        input: { [name: string]: unknown }
      }
    }
  }
  /** Outline symbols */
  'unified_search/outline': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      /** Default: `.`. */
      path?: string
      lang?: string
      /** Such as class. */
      type?: string | string[]
      /** Regex over signatures. */
      match?: string
      /** Default: `auto`. */
      items?: 'auto' | 'structure' | 'exports' | 'imports' | 'all'
      /** Default: `false`. */
      pub_members?: boolean
      /** Default: `false`. */
      follow?: boolean
      /** Default: `digest`. */
      view?: 'digest' | 'names' | 'full'
      /** Default: `200`. */
      max_results?: number
    }
    output: {
      view: 'digest' | 'names' | 'full'
      files: {
        path: string
        lang: string
        /** Of the views digest and names. */
        groups?: {
          kind: string
          names: string[]
          members?: string[]
        }[]
        /** Of the view full. */
        items?: {
          role: string
          kind: string
          name: string
          signature: string
          astKind: string
          isImport: boolean
          isExported: boolean
          line_number: number
          end_line: number
          range: UnifiedSearchOutlineRange
          members: {
            role: string
            kind: string
            name: string
            signature: string
            isPublic: boolean
            line_number: number
          }[]
        }[]
      }[]
      /** ast-grep, tree-sitter or mixed. */
      backend: string
      total_symbols: number
      truncated: boolean
      /** The call that continues. */
      next?: {
        tool: string
        input: { [name: string]: unknown }
      }
    }
  }
  /** Find references */
  'unified_search/references': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      /** Default: `.`. */
      path?: string
      /** With path: the line of the symbol. */
      line?: number
      /** From 1, in UTF-16 units. */
      column?: number
      /** A name, such as Server.run. */
      symbol?: string
      /** Default: `100`. */
      max_results?: number
      /** Default: `0`. */
      skip?: number
    }
    output: BuiltinSlots['unified_search/calls']['output']
  }
  /** Load a skill */
  'unified_search/skill': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      name: string
    }
    output: {
      name: string
      description: string
      instructions: string
      /** Of its SKILL.md. */
      path: string
      scope: 'workspace' | 'user' | 'bundled'
      /** In this session. */
      already_loaded: boolean
      /** Paths for load_skill_resource. */
      resources: string[]
      /** Slots that can be called now. */
      tools_added: string[]
      /** Declared by the skill; no grant. */
      allowed_tools?: string[]
      compatibility?: string
    }
  }
  /** Search syntax */
  'unified_search/structural': {
    input: {
      response_format?: 'concise' | 'detailed'
      /** Default: `query`. */
      workflow?: 'query' | 'scan' | 'test' | 'rewrite' | 'inspect'
      /** Code such as console.log($A). */
      pattern?: string
      kind?: string
      rewrite?: string
      /** A rewrite with an expanded range. */
      fix_config?: {
        template: string
        expand_start?: UnifiedSearchStructuralExpand
        expand_end?: UnifiedSearchStructuralExpand
      }
      lang?: string
      selector?: string
      /** Default smart; relaxed skips comments. */
      strictness?: 'cst' | 'smart' | 'ast' | 'relaxed' | 'signature' | 'template'
      debug_query?: 'pattern' | 'ast' | 'cst' | 'sexp' | true
      /** Default: `sgconfig.yml`. */
      config_path?: string
      /** Of rule ids. */
      filter?: string
      skip_snapshot_tests?: boolean
      /** Default: `.`. */
      path?: string
      paths?: string[]
      globs?: string | string[]
      /** Default: `0`. */
      context_lines?: number
      /** Default: `100`. */
      max_results?: number
      /** Default: `0`. */
      skip?: number
      /** Default: `false`. */
      include_hidden?: boolean
    }
    output:
      | {
          workflow: 'query'
          matches: UnifiedSearchStructuralMatch[]
          /** Of all pages. */
          total_matches: number
          files_searched: number
          files_with_matches: number
          files?: {
            file: string
            count: number
          }[]
          parse_issues?: {
            file?: string
            language?: string
            reason: string
          }[]
          pattern?: string
          kind?: string
          debug?: {
            format: 'pattern' | 'ast' | 'cst' | 'sexp'
            text: string
          }
          truncated: boolean
          backend: string
          path: string
          /** The call that continues. */
          next?: {
            tool: string
            input: { [name: string]: unknown }
          }
        }
      | {
          workflow: 'rewrite'
          rewrites: UnifiedSearchStructuralMatch[]
          /** Of all pages. */
          total_rewrites: number
          debug?: {
            format: 'pattern' | 'ast' | 'cst' | 'sexp'
            text: string
          }
          truncated: boolean
          backend: string
          path: string
          /** The call that continues. */
          next?: {
            tool: string
            input: { [name: string]: unknown }
          }
        }
      | {
          workflow: 'scan'
          findings: UnifiedSearchStructuralFinding[]
          summary: {
            total_findings: number
            returned_findings: number
            truncated: boolean
            has_error_findings: boolean
            by_severity: { [name: string]: number }
            by_rule: { [name: string]: number }
          }
          config_path: string
          truncated: boolean
          backend: string
          path: string
          /** The call that continues. */
          next?: {
            tool: string
            input: { [name: string]: unknown }
          }
        }
      | {
          workflow: 'test'
          passed: boolean
          stdout: string
          stderr: string
          backend: string
          config_path: string
          summary: {
            status: 'passed' | 'failed'
            passed: number
            failed: number
            total: number
            rules: {
              id: string
              status: 'passed' | 'failed'
              cases: string
            }[]
          }
        }
      | {
          workflow: 'inspect'
          backend: string
          config_path: string
          config_exists: boolean
          project_dir: string
          rule_dir_hints: string[]
          util_dirs: string[]
          test_configs: { [name: string]: unknown }[]
          language_injections: unknown[]
          custom_languages: { [name: string]: unknown }
          language_globs: { [name: string]: unknown }
          missing_dirs: string[]
          /** Where the named one does not exist. */
          discovered_configs?: string[]
        }
  }
  /** List symbols */
  'unified_search/symbols': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      /** Default: `.`. */
      path?: string
      /** A part of the name. */
      query?: string
      /** Default: `100`. */
      max_results?: number
      /** Default: `0`. */
      skip?: number
    }
    output: {
      matches?: {
        path: string
        line_number: number
        /** From 1, in UTF-16 units. */
        column: number
        /** The line. */
        text: string
        name?: string
      }[]
      total?: number
      truncated?: boolean
      /** The call that continues. */
      next?: {
        tool: string
        input: { [name: string]: unknown }
      }
    }
  }
  /** Find tools */
  'unified_search/tools': {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      keyword: string
      /** Default: `name-and-description`. */
      detail_level?: 'name-only' | 'name-and-description' | 'full' | 'name' | 'name_description'
      /** Default: `20`. */
      max_results?: number
    }
    output: {
      tools: {
        tool: string
        action?: string
        source: 'slot' | 'alias' | 'mcp' | 'skill'
        /** In this mode. */
        available: boolean
        description?: string
        /** Its schema. */
        input?: { [name: string]: unknown }
        effects?: ('read' | 'write' | 'exec' | 'net' | 'ask')[]
        plugin?: string
      }[]
      total: number
      truncated: boolean
    }
  }
  /** Fetch a web page */
  'unified_search/web': {
    input: {
      response_format?: 'concise' | 'detailed'
      /** http(s). */
      url?: string
      /** @deprecated A search is made by web_search. */
      query?: string
      /** What to find. */
      prompt?: string
      max_bytes?: number
      timeout_secs?: number
    }
    output: {
      url: string
      final_url: string
      status: number
      content_type: string
      title?: string
      content: string
      bytes: number
      truncated: boolean
      /** Passages nearest to prompt. */
      passages?: string[]
      /** File with the whole page. */
      spool_path?: string
      backend: string
      redirects?: string[]
      links?: {
        text: string
        url: string
      }[]
      /** False where content is plain text of a page that was too large to read. */
      structured?: boolean
      /** The call that continues. */
      next?: {
        tool: string
        input: { [name: string]: unknown }
      }
    }
  }
  /** Search the web */
  web_search: {
    input: {
      /** detailed: every field, no text. */
      response_format?: 'concise' | 'detailed'
      query: string
      max_results?: number
    }
    output: {
      query: string
      provider: string
      count: number
      results: {
        title: string
        url: string
        snippet: string
      }[]
      cached: boolean
      /** In this session. */
      requests_left: number
    }
  }
}

type UnifiedSearchOutlineRange = {
  byteOffset: {
    start: number
    end: number
  }
  start: UnifiedSearchOutlinePlace
  end: UnifiedSearchOutlinePlace
}

type UnifiedSearchOutlinePlace = {
  /** From 0. */
  line: number
  /** From 0, in code points. */
  column: number
}

type UnifiedSearchStructuralExpand = {
  regex?: string
  kind?: string
  pattern?: string
  stop_by?: string | { [name: string]: unknown }
}

type UnifiedSearchStructuralRange = {
  byteOffset: {
    start: number
    end: number
  }
  start: UnifiedSearchStructuralPlace
  end: UnifiedSearchStructuralPlace
}

type UnifiedSearchStructuralPlace = {
  /** From 0. */
  line: number
  /** From 0, in code points. */
  column: number
}

type UnifiedSearchStructuralCapture = {
  text: string
  range: UnifiedSearchStructuralRange
}

type UnifiedSearchStructuralCaptures = {
  single: { [name: string]: UnifiedSearchStructuralCapture }
  multi: { [name: string]: UnifiedSearchStructuralCapture[] }
  transformed: { [name: string]: string }
}

type UnifiedSearchStructuralMatch = {
  file: string
  line_number: number
  text: string
  /** The whole lines of the match. */
  lines: string
  language: string
  range: UnifiedSearchStructuralRange
  text_truncated?: true
  replacement?: string
  replacementOffsets?: {
    start: number
    end: number
  }
  metaVariables?: UnifiedSearchStructuralCaptures
  charCount?: {
    leading: number
    trailing: number
  }
}

type UnifiedSearchStructuralFinding = {
  file: string
  line_number: number
  text: string
  /** The whole lines of the match. */
  lines: string
  language: string
  range: UnifiedSearchStructuralRange
  text_truncated?: true
  replacement?: string
  rule_id: string
  severity: string
  message: string
  note: string | null
  metadata?: { [name: string]: unknown }
  metaVariables?: UnifiedSearchStructuralCaptures
  labels?: unknown[]
}

/** Packages of the npm registry that hold ast-grep, by `platform arch`. A test compares them with the lockfile. */
export const pinned = {
  version: '0.51.1',
  packages: {
    'darwin arm64': {
      name: '@ast-grep/cli-darwin-arm64',
      integrity: 'sha512-C279HR4eytYkHrmqudMi+eUG3ZvuAqWc0zp9i5aPugFF389AE6N6SbiSFdKeVZXMaUVpwRbmBQbBTr5cA0Tugw==',
    },
    'darwin x64': {
      name: '@ast-grep/cli-darwin-x64',
      integrity: 'sha512-i8wJd4amxXCvEgZDcU8QDnVE92oqJyDFPyTjaT1PVtBQ0Vb7Y55iTu1dwBwXVi0inFM2OJ4Ze57yCz1uNuXTbg==',
    },
    'linux arm64': {
      name: '@ast-grep/cli-linux-arm64-gnu',
      integrity: 'sha512-ix/97iBUPGvf9KrhKRcooSJLmwBgAo7GhKHm7VH30kpxOMUrNLqiTXJj2eZVLiO2xQdUFnbwhVn+A7blSlYLJQ==',
    },
    'linux x64': {
      name: '@ast-grep/cli-linux-x64-gnu',
      integrity: 'sha512-FlaaRLyopXet+zFrWOdlTbyJb+QqZzgV9jxIbgz0FoVsJSaJ6jsenO/6bgYJk4zPOCUODuvoQ1/XFlB4r6BdcQ==',
    },
    'win32 arm64': {
      name: '@ast-grep/cli-win32-arm64-msvc',
      integrity: 'sha512-WRgt7DX/APxJ6KwGopM0jiC1SN4okxXh2kXY5/YliNy0oPc7ayE5FdG7Dqz40iyOE3EpQN6SZVRquvkpJEagnQ==',
    },
    'win32 ia32': {
      name: '@ast-grep/cli-win32-ia32-msvc',
      integrity: 'sha512-Nclj/nsZmiT1bg1jfVL9sqpv0dzcZv6lZu1uk/UrjtvXw832yewmJucvmpAOd0fcb6l57SQ69Jqvt9MNzKwFSQ==',
    },
    'win32 x64': {
      name: '@ast-grep/cli-win32-x64-msvc',
      integrity: 'sha512-98fN1gUWJ6AMcwfFdUAQV+4haq5HAzDZWyu3W5zCZXkhhvcT3GLY9oRcACrr7yefIQohHpj5GG0rUZNlwukrMQ==',
    },
  } as Record<string, { name: string; integrity: string } | undefined>,
}

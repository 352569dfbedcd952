namespace {
struct Row {};
}  // namespace
namespace theirs {
struct Column {};
}  // namespace theirs

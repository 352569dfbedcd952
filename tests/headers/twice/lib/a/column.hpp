namespace ours {
struct Column {
  int title;
};
}  // namespace ours
